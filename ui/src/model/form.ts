/**
 * A form out of a workflow's input schema (JSON Schema), as far as forms go: texts, numbers, switches, choices, lists of
 * texts, several of some choices, and groups of all these. Whatever else a schema asks for is written as JSON. The server checks everything again and has the last word;
 * what is checked here is checked while somebody types.
 */

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  additionalProperties?: Schema | boolean;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  /** The order of the properties, as their author has written them: an object of JSON has none. */
  'x-order'?: unknown;
}

export type FieldKind = 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'several' | 'list' | 'file' | 'group' | 'json';

export interface Field {
  /** Where in the input it is: a JSON pointer without its first slash, which is the property's name unless it is in a group. */
  name: string;
  label: string;
  kind: FieldKind;
  isRequired: boolean;
  schema: Schema;
  /** Of a group. */
  fields: Field[];
}

/** What stands in the form: text for everything but switches, and what is chosen of several. */
export type Values = Record<string, string | boolean | readonly string[]>;

/** Groups in groups, as deep as anybody fills in a form; what is deeper is JSON. */
const DEEPEST = 3;

export function fieldsOf(schema: Schema | null | undefined, inside = '', depth = 0): Field[] {
  const required = new Set(schema?.required ?? []);
  return propertiesOf(schema ?? {}).map(([property, part]) => {
    const name = inside + property.replaceAll('~', '~0').replaceAll('/', '~1');
    const kind = kindOf(part, depth);
    const fields = kind === 'group' ? fieldsOf(part, `${name}/`, depth + 1) : [];
    return { name, label: part.title ?? property, kind, isRequired: required.has(property), schema: part, fields };
  });
}

/** The name of the property that a field is for, in the object that it is in. */
function propertyOf(field: Field): string {
  return field.name.slice(field.name.lastIndexOf('/') + 1).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The properties in their author's order. Those that it does not name come last, as they are. */
function propertiesOf(schema: Schema): [string, Schema][] {
  const order: unknown[] = Array.isArray(schema['x-order']) ? schema['x-order'] : [];
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(schema.properties ?? {}).sort(([one], [other]) => place(one) - place(other));
}

/** The values that can be chosen from, if they are all that there is; null is chosen by choosing nothing. */
export function choicesOf(schema: Schema): unknown[] | null {
  const branches = schema.oneOf ?? schema.anyOf;
  const said = schema.enum ?? (branches?.every((branch) => branch.const !== undefined || branch.type === 'null') ? branches.map((branch) => branch.const ?? null) : null);
  const choices = said?.filter((value) => value !== null) ?? [];
  return choices.length > 0 && choices.every((value) => ['string', 'number', 'boolean'].includes(typeof value)) ? choices : null;
}

function kindOf(schema: Schema, depth: number): FieldKind {
  const type = Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type;
  if (type !== 'boolean' && choicesOf(schema)) return 'choice';
  switch (type) {
    case 'string':
      if (schema.format === 'file') return 'file';
      return (schema.maxLength ?? 0) > 200 || schema.format === 'markdown' || schema.format === 'textarea' ? 'long' : 'text';
    case 'number':
      return 'number';
    case 'integer':
      return 'integer';
    case 'boolean':
      return 'boolean';
    case 'array':
      if (schema.items && choicesOf(schema.items)) return 'several';
      return !schema.items || schema.items.type === 'string' ? 'list' : 'json';
    default:
      return Object.keys(schema.properties ?? {}).length > 0 && !schema.oneOf && !schema.anyOf && depth < DEEPEST ? 'group' : 'json';
  }
}

/** What stands in a form at first: of an earlier input, else the defaults. */
export function valuesOf(fields: readonly Field[], input: unknown = null): Values {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  const values: Values = {};
  for (const field of fields) {
    const value = given[propertyOf(field)] ?? field.schema.default;
    if (field.kind === 'group') Object.assign(values, valuesOf(field.fields, value));
    else values[field.name] = written(field, value);
  }
  return values;
}

function written(field: Field, value: unknown): Values[string] {
  if (field.kind === 'boolean') return value === true;
  if (field.kind === 'several') return Array.isArray(value) ? value.map(String) : [];
  if (value === undefined || value === null) return '';
  if (field.kind === 'list' && Array.isArray(value)) return value.join('\n');
  if (field.kind === 'json') return JSON.stringify(value, null, 2);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export interface Judged {
  input: Record<string, unknown>;
  /** By field. */
  errors: Record<string, string>;
}

/** The input that a form makes, and what is wrong with it. What is left empty is left out. */
export function judge(fields: readonly Field[], values: Values): Judged {
  const input: Record<string, unknown> = {};
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const found = field.kind === 'group' ? groupOf(field, values) : fieldOf(field, values[field.name] ?? '');
    Object.assign(errors, found.errors);
    if (found.value !== undefined) input[propertyOf(field)] = found.value;
  }
  return { input, errors };
}

interface Found {
  value?: unknown;
  errors?: Record<string, string>;
}

/** A group that need not be there and that nobody has touched is not there, whatever it would need. */
function groupOf(group: Field, values: Values): Found {
  const { input, errors } = judge(group.fields, values);
  const isWrong = Object.keys(errors).length > 0;
  if (group.isRequired || isFilled(group.fields, values)) return { errors, ...(isWrong ? {} : { value: input }) };
  return isWrong || Object.keys(input).length === 0 ? {} : { value: input };
}

/** Whether something stands in it that was not there by itself. */
function isFilled(fields: readonly Field[], values: Values): boolean {
  return fields.some((field) => (field.kind === 'group' ? isFilled(field.fields, values) : String(values[field.name] ?? '') !== String(written(field, field.schema.default))));
}

function fieldOf(field: Field, given: Values[string]): Found {
  const wrong = (error: string) => ({ errors: { [field.name]: error } });
  if (typeof given === 'boolean') {
    if (mustBeOn(field) && !given) return wrong('This is needed.');
    // A switch that was never on, and need not be said, is not said.
    return given || field.isRequired || field.schema.default !== undefined ? { value: given } : {};
  }
  const isEmpty = typeof given === 'string' ? given.trim() === '' : given.length === 0;
  // Nothing of several may be meant: then it is an empty list.
  if (isEmpty && field.kind === 'several' && field.isRequired && !field.schema.minItems) return { value: [] };
  if (isEmpty && field.isRequired && field.kind === 'choice' && mayBeNull(field.schema)) return { value: null };
  if (isEmpty) return field.isRequired ? wrong('This is needed.') : {};
  const { value, error } = typeof given === 'string' ? valueOf(field, given) : severalOf(field, given);
  return error ? wrong(error) : { value };
}

/** A switch that has to be on: one reads and agrees. Any other may be off, so that nothing is needed of it. */
export function mustBeOn({ kind, isRequired, schema }: Field): boolean {
  return kind === 'boolean' && isRequired && (schema.const === true || (schema.enum?.length === 1 && schema.enum[0] === true));
}

function mayBeNull({ type, enum: choices, oneOf, anyOf }: Schema): boolean {
  return Boolean(type?.includes('null') || choices?.includes(null) || [...(oneOf ?? []), ...(anyOf ?? [])].some((branch) => branch.type === 'null'));
}

function severalOf({ schema }: Field, given: readonly string[]): { value?: unknown; error?: string } {
  const { minItems: least, maxItems: most } = schema;
  if (least !== undefined && given.length < least) return { error: `At least ${least}.` };
  if (most !== undefined && given.length > most) return { error: `At most ${most}.` };
  // In the order of the choices, however they were ticked.
  return { value: (choicesOf(schema.items ?? {}) ?? []).filter((choice) => given.includes(String(choice))) };
}

function valueOf(field: Field, text: string): { value?: unknown; error?: string } {
  const { schema } = field;
  switch (field.kind) {
    case 'choice': {
      const value = choicesOf(schema)?.find((choice) => String(choice) === text);
      return value === undefined ? { error: 'This is not one of the choices.' } : { value };
    }
    case 'number':
    case 'integer':
      return numberOf(field, text);
    case 'list': {
      const value = text.split('\n').map((line) => line.trim()).filter(Boolean);
      if (schema.minItems !== undefined && value.length < schema.minItems) return { error: `At least ${schema.minItems}, one on each line.` };
      if (schema.maxItems !== undefined && value.length > schema.maxItems) return { error: `At most ${schema.maxItems}.` };
      return { value };
    }
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { error: 'This is not JSON.' };
      }
    default:
      return textOf(schema, text);
  }
}

function textOf(schema: Schema, text: string): { value?: string; error?: string } {
  const length = [...text].length;
  if (schema.minLength !== undefined && length < schema.minLength) return { error: `At least ${schema.minLength} characters.` };
  if (schema.maxLength !== undefined && length > schema.maxLength) return { error: `At most ${schema.maxLength} characters.` };
  if (schema.pattern !== undefined && !matches(schema.pattern, text)) return { error: `Does not fit ${schema.pattern}` };
  return { value: text };
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true; // The server knows better what it means.
  }
}

function numberOf(field: Field, text: string): { value?: number; error?: string } {
  const { schema } = field;
  const value = Number(text);
  if (!Number.isFinite(value)) return { error: 'This is not a number.' };
  if (field.kind === 'integer' && !Number.isInteger(value)) return { error: 'A whole number.' };
  if (schema.minimum !== undefined && value < schema.minimum) return { error: `At least ${schema.minimum}.` };
  if (schema.maximum !== undefined && value > schema.maximum) return { error: `At most ${schema.maximum}.` };
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return { error: `More than ${schema.exclusiveMinimum}.` };
  if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum) return { error: `Less than ${schema.exclusiveMaximum}.` };
  return { value };
}
