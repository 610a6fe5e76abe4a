/**
 * Markdown as HTML that can do nothing: no scripts, no styles, no forms, no frames, nothing loaded from elsewhere. HTML in
 * it is shown as it was written: what an agent says about `<script>` must not vanish.
 * Both libraries are large, so they are loaded when the first text is shown.
 */

import type { Marked as MarkedType } from 'marked';

type Parser = typeof MarkedType;

export async function rendered(text: string, isInline = false): Promise<string> {
  const [{ Marked }, { default: purify }] = await Promise.all([import('marked'), import('dompurify')]);
  const html = await htmlOf(text, isInline, Marked);
  purify.removeAllHooks();
  purify.addHook('afterSanitizeAttributes', (node) => {
    if (node.tagName === 'A') {
      node.setAttribute('target', '_blank');
      node.setAttribute('rel', 'noopener noreferrer');
    }
    // A picture from elsewhere would tell somebody that it was looked at.
    if (node.tagName === 'IMG' && !/^data:image\//.test(node.getAttribute('src') ?? '')) node.removeAttribute('src');
  });
  return purify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'iframe', 'object', 'embed', 'video', 'audio', 'source', 'link', 'meta', 'base'],
    FORBID_ATTR: ['style', 'class', 'id', 'name', 'srcset', 'background', 'action', 'formaction'],
    ALLOW_DATA_ATTR: false,
  });
}

export async function htmlOf(text: string, isInline: boolean, Marked: Parser): Promise<string> {
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => escaped(text),
      // A box to tick would be a part of a form.
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    },
  });
  return isInline ? marked.parseInline(text) : marked.parse(text);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
