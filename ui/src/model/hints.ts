/** What a form says beside its fields: how much may be in one, what its JSON looks like, and what the server did not like. */

import { choicesOf, type Field, type Schema } from './form';

/** `0 to 5`, `at least 3 characters`, `in steps of 0.5`: what the schema says that can be said in a word. */
export function boundsOf({ kind, schema }: Field): string {
  if (kind === 'number' || kind === 'integer') {
    const steps = schema.multipleOf === undefined ? [] : [`in steps of ${schema.multipleOf}`];
    return [range(schema.minimum, schema.maximum), more(schema), ...steps].filter(Boolean).join(', ');
  }
  if (kind === 'text' || kind === 'long') return counted(range(schema.minLength, schema.maxLength), 'characters');
  if (kind === 'list' || kind === 'several') return counted(range(schema.minItems, schema.maxItems), 'of them');
  return '';
}

function range(least: number | undefined, most: number | undefined): string {
  const word = (value: number) => value.toLocaleString('en');
  if (least !== undefined && least === most) return word(least);
  if (least !== undefined && most !== undefined) return `${word(least)} to ${word(most)}`;
  if (least !== undefined) return `at least ${word(least)}`;
  return most === undefined ? '' : `at most ${word(most)}`;
}

function more({ exclusiveMinimum: above, exclusiveMaximum: below }: Schema): string {
  return [above === undefined ? '' : `more than ${above}`, below === undefined ? '' : `less than ${below}`].filter(Boolean).join(', ');
}

function counted(text: string, of: string): string {
  return text && `${text} ${of}`;
}

/** What could stand in a field: an example of the author's, or for JSON its keys with something in each. */
export function exampleOf({ kind, schema }: Field): string {
  const [example] = schema.examples ?? [];
  if (kind === 'json') {
    const branches = example === undefined ? (schema.oneOf ?? schema.anyOf ?? [schema]) : [schema];
    return branches.map((branch) => JSON.stringify(skeletonOf(branch), null, 2)).join('\nor\n');
  }
  return example === undefined ? '' : typeof example === 'string' ? example : JSON.stringify(example);
}

const DEEPEST = 5;

/** A value of the form that a schema asks for, without meaning. */
export function skeletonOf(schema: Schema, depth = 0): unknown {
  const said = schema.examples?.[0] ?? schema.default ?? schema.const ?? choicesOf(schema)?.[0];
  if (said !== undefined || depth > DEEPEST) return said ?? null;
  const branch = (schema.oneOf ?? schema.anyOf)?.find((one) => one.type !== 'null');
  if (branch) return skeletonOf(branch, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : (schema.type ?? (schema.properties ? 'object' : undefined));
  switch (type) {
    case 'object': {
      const parts = Object.entries(schema.properties ?? {}).map(([name, part]) => [name, skeletonOf(part, depth + 1)]);
      const others = typeof schema.additionalProperties === 'object' ? [['…', skeletonOf(schema.additionalProperties, depth + 1)]] : [];
      return Object.fromEntries(parts.length > 0 ? parts : others);
    }
    case 'array':
      return schema.items ? [skeletonOf(schema.items, depth + 1)] : [];
    case 'number':
    case 'integer':
      return schema.minimum ?? 0;
    case 'boolean':
      return false;
    case 'string':
      return '…';
    default:
      return null;
  }
}

/** What the server refuses, by the field that it is in. What is further inside than a field goes is told with its way there. */
export function refusedOf(problems: readonly { pointer: string; detail: string }[], fields: readonly Field[]): Record<string, string> {
  const refused: Record<string, string> = {};
  for (const { pointer, detail } of problems) {
    const parts = pointer.split('/').filter(Boolean);
    const way = parts[0] === 'input' ? parts.slice(1) : parts;
    const field = nearest(way.join('/'), fields);
    if (!field) continue;
    const rest = way.slice(field.name.split('/').length).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const said = rest.length > 0 ? `${wayOf(rest)} ${detail}` : sentence(detail);
    refused[field.name] = refused[field.name] ? `${refused[field.name]}; ${said}` : said;
  }
  return refused;
}

function nearest(way: string, fields: readonly Field[]): Field | null {
  const field = fields.find(({ name }) => way === name || way.startsWith(`${name}/`));
  return field ? (nearest(way, field.fields) ?? field) : null;
}

/** `address.zip`, `items[0].sku`. */
function wayOf(parts: readonly string[]): string {
  return parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('').replace(/^\./, '');
}

/** The server says it behind a field's name: beside the field it is a sentence of its own. */
function sentence(detail: string): string {
  const said = detail.replace(/^is wrong: /, '');
  return said === 'is missing' ? 'This is needed.' : said.charAt(0).toUpperCase() + said.slice(1);
}
