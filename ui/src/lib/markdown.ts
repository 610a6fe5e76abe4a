/**
 * Markdown as HTML that can do nothing: no scripts, no styles, no forms, no frames, nothing loaded from elsewhere.
 * Both libraries are large, so they are loaded when the first text is shown.
 */

export async function rendered(text: string): Promise<string> {
  const [{ marked }, { default: purify }] = await Promise.all([import('marked'), import('dompurify')]);
  const html = await marked.parse(text, { gfm: true, async: true });
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
