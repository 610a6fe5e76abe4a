/**
 * A form out of a workflow's input schema (JSON Schema), as far as forms go: texts, numbers, switches, choices, lists of
 * texts. Whatever else a schema asks for is written as JSON. The server checks everything again and has the last word;
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

export type FieldKind = 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'file' | 'json';

export interface Field {
  name: string;
  label: string;
  kind: FieldKind;
  isRequired: boolean;
  schema: Schema;
}

/** What stands in the form: text for everything but switches. */
export type Values = Record<string, string | boolean>;

export function fieldsOf(schema: Schema | null | undefined): Field[] {
  const required = new Set(schema?.required ?? []);
  return propertiesOf(schema ?? {}).map(([name, part]) => ({
    name,
    label: part.title ?? name,
    kind: kindOf(part),
    isRequired: required.has(name),
    schema: part,
  }));
}

/** The properties in their author's order. Those that it does not name come last, as they are. */
function propertiesOf(schema: Schema): [string, Schema][] {
  const order: unknown[] = Array.isArray(schema['x-order']) ? schema['x-order'] : [];
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(schema.properties ?? {}).sort(([one], [other]) => place(one) - place(other));
}

function kindOf(schema: Schema): FieldKind {
  if (schema.enum && schema.enum.every((value) => ['string', 'number', 'boolean'].includes(typeof value))) return 'choice';
  const type = Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type;
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
      return !schema.items || schema.items.type === 'string' ? 'list' : 'json';
    default:
      return 'json';
  }
}

/** What stands in a form at first: of an earlier input, else the defaults. */
export function valuesOf(fields: readonly Field[], input: unknown = null): Values {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return Object.fromEntries(fields.map((field) => [field.name, written(field, given[field.name] ?? field.schema.default)]));
}

function written(field: Field, value: unknown): string | boolean {
  if (field.kind === 'boolean') return value === true;
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
    const given = values[field.name];
    if (typeof given === 'boolean') {
      // A switch that was never on, and need not be said, is not said.
      if (given || field.isRequired || field.schema.default !== undefined) input[field.name] = given;
      continue;
    }
    const text = given ?? '';
    if (text.trim() === '') {
      if (field.isRequired) errors[field.name] = 'This is needed.';
      continue;
    }
    const { value, error } = valueOf(field, text);
    if (error) errors[field.name] = error;
    else input[field.name] = value;
  }
  return { input, errors };
}

function valueOf(field: Field, text: string): { value?: unknown; error?: string } {
  const { schema } = field;
  switch (field.kind) {
    case 'choice': {
      const value = schema.enum?.find((choice) => String(choice) === text);
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

/** The field that a JSON pointer of the server means: `/input/title` or `/title`. */
export function fieldOfPointer(pointer: string, fields: readonly Field[]): string | null {
  const parts = pointer.split('/').filter(Boolean).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const name = parts[0] === 'input' ? parts[1] : parts[0];
  return fields.some((field) => field.name === name) ? (name ?? null) : null;
}
