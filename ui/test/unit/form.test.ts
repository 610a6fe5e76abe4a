import { describe, expect, test } from 'vitest';
import { fieldsOf, judge, valuesOf, type Field, type Schema } from '../../src/model/form';
import { boundsOf, exampleOf, refusedOf } from '../../src/model/hints';
import { shelvesOf } from '../../src/model/shelves';

const schema: Schema = {
  type: 'object',
  properties: {
    brief: { type: 'string', maxLength: 2000 },
    count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    deep: { type: 'object' },
    gate: { type: 'boolean', default: true },
    labels: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    level: { enum: [1, 2, 'high'] },
    notes: { type: 'string', format: 'file' },
    title: { type: 'string', minLength: 3, pattern: '^[A-Z]', title: 'Title of it' },
  },
  required: ['title'],
};
const fields = fieldsOf(schema);

describe('a form', () => {
  test('has a field for each property', () => {
    expect(fields.map((field) => [field.name, field.kind])).toEqual([
      ['brief', 'long'], ['count', 'integer'], ['deep', 'json'], ['gate', 'boolean'], ['labels', 'list'], ['level', 'choice'], ['notes', 'file'], ['title', 'text'],
    ]);
    expect(fields.at(-1)).toMatchObject({ label: 'Title of it', isRequired: true });
  });
  test.each([
    [['title', 'brief', 'notes', 'level', 'labels', 'gate', 'deep', 'count'], ['title', 'brief', 'notes', 'level', 'labels', 'gate', 'deep', 'count']],
    [['title', 'gone', 'gate', 'title'], ['title', 'gate', 'brief', 'count', 'deep', 'labels', 'level', 'notes']],
    ['title first', ['brief', 'count', 'deep', 'gate', 'labels', 'level', 'notes', 'title']],
  ])('asks in the order that the schema gives: %j', (order, names) => {
    expect(fieldsOf({ ...schema, 'x-order': order }).map((field) => field.name)).toEqual(names);
  });
  test('asks for numbered fields in their author\'s order, too', () => {
    expect(fieldsOf({ properties: { 1: {}, 2: {}, first: {} }, 'x-order': ['first', '2', '1'] }).map((field) => field.name)).toEqual(['first', '2', '1']);
  });
  test('of a workflow without a schema is empty', () => {
    expect([fieldsOf(null), fieldsOf({}), judge([], {})]).toEqual([[], [], { input: {}, errors: {} }]);
  });
  test('begins with the defaults, or with an earlier input', () => {
    expect(valuesOf(fields)).toMatchObject({ count: '2', gate: true, title: '', labels: '' });
    const again = valuesOf(fields, { title: 'Again', labels: ['a', 'b'], deep: { a: 1 }, gate: false, count: 4 });
    expect(again).toMatchObject({ title: 'Again', labels: 'a\nb', gate: false, count: '4' });
    expect(judge(fields, again).input).toEqual({ title: 'Again', labels: ['a', 'b'], deep: { a: 1 }, gate: false, count: 4 });
  });
  test('makes values of the right types, and leaves out what is empty', () => {
    const { input, errors } = judge(fields, { ...valuesOf(fields), title: 'Dark mode', labels: ' a \n\n b ', level: '2', deep: '{"a": 1}' });
    expect(errors).toEqual({});
    expect(input).toEqual({ title: 'Dark mode', count: 2, gate: true, labels: ['a', 'b'], level: 2, deep: { a: 1 } });
  });
  test.each([
    [{ title: '' }, 'title', 'This is needed.'],
    [{ title: 'Ab' }, 'title', 'At least 3 characters.'],
    [{ title: 'dark' }, 'title', 'Does not fit ^[A-Z]'],
    [{ title: 'Dark', count: '9' }, 'count', 'At most 5.'],
    [{ title: 'Dark', count: '1.5' }, 'count', 'A whole number.'],
    [{ title: 'Dark', count: 'two' }, 'count', 'This is not a number.'],
    [{ title: 'Dark', labels: 'a\nb\nc' }, 'labels', 'At most 2.'],
    [{ title: 'Dark', deep: '{' }, 'deep', 'This is not JSON.'],
    [{ title: 'Dark', level: 'low' }, 'level', 'This is not one of the choices.'],
  ])('says what is wrong with %j', (given, field, message) => {
    expect(judge(fields, { ...valuesOf(fields), ...given }).errors).toEqual({ [field]: message });
  });
});

const address: Schema = { type: 'object', properties: { zip: { type: 'string', minLength: 5, maxLength: 5 }, city: { type: 'string' } }, required: ['zip'], 'x-order': ['zip', 'city'] };
const order: Schema = {
  type: 'object',
  properties: {
    agreed: { type: 'boolean', const: true },
    author: { type: 'object', properties: { name: { type: 'string' }, address }, required: ['name', 'address'], 'x-order': ['name', 'address'] },
    either: { oneOf: [{ type: 'string' }, { type: 'object', properties: { url: { type: 'string' } } }] },
    gift: { type: ['object', 'null'], properties: { to: { type: 'string' }, wrap: { type: 'boolean', default: true } }, required: ['to'] },
    items: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer', minimum: 1 } } } },
    maybe: { enum: ['a', 'b', null] },
    ratio: { type: 'number', minimum: 0, maximum: 5, multipleOf: 0.5 },
    speed: { oneOf: [{ const: 'slow' }, { const: 'fast' }] },
    targets: { type: 'array', items: { enum: ['linux', 'macos', 7] }, minItems: 1 },
  },
  required: ['agreed', 'author', 'maybe', 'targets'],
};
const nested = fieldsOf(order);
const field = (name: string, among: Field[] = nested): Field => among.flatMap((one) => [one, ...one.fields, ...one.fields.flatMap(({ fields }) => fields)]).find((one) => one.name === name)!;
const filled = { ...valuesOf(nested), agreed: true, 'author/name': 'Ada', 'author/address/zip': '12345', targets: ['7', 'linux'] };

describe('a form with more than one level', () => {
  test('has groups, choices and several of some choices; the rest is JSON', () => {
    expect(nested.map(({ name, kind }) => [name, kind])).toEqual([
      ['agreed', 'boolean'], ['author', 'group'], ['either', 'json'], ['gift', 'group'], ['items', 'json'], ['maybe', 'choice'], ['ratio', 'number'], ['speed', 'choice'], ['targets', 'several'],
    ]);
    expect(field('author').fields.map(({ name, kind }) => [name, kind])).toEqual([['author/name', 'text'], ['author/address', 'group']]);
    const deep = (depth: number): Schema => ({ type: 'object', properties: { in: depth ? deep(depth - 1) : { type: 'string' } } });
    expect(JSON.stringify(fieldsOf(deep(9))).match(/"kind":"(group|json)"/g)).toEqual(['"kind":"group"', '"kind":"group"', '"kind":"group"', '"kind":"json"']);
  });
  test('makes one object out of its groups, and leaves out a group that nobody has touched', () => {
    expect(judge(nested, filled)).toEqual({ input: { agreed: true, author: { name: 'Ada', address: { zip: '12345' } }, maybe: null, targets: ['linux', 7] }, errors: {} });
    expect(valuesOf(nested, judge(nested, filled).input)).toMatchObject({ 'author/address/zip': '12345', targets: ['linux', '7'], maybe: '' });
  });
  test('asks for what a group needs when the group is needed, or begun', () => {
    expect(judge(nested, valuesOf(nested)).errors).toEqual({ agreed: 'This is needed.', 'author/name': 'This is needed.', 'author/address/zip': 'This is needed.', targets: 'This is needed.' });
    expect(judge(nested, { ...filled, 'gift/wrap': false }).errors).toEqual({ 'gift/to': 'This is needed.' });
    expect(judge(nested, { ...filled, 'gift/to': 'Bob' }).input).toMatchObject({ gift: { to: 'Bob', wrap: true } });
  });
  test('says how much may be in a field, and what its JSON looks like', () => {
    expect(['ratio', 'targets', 'author/address/zip', 'maybe'].map((name) => boundsOf(field(name)))).toEqual(['0 to 5, in steps of 0.5', 'at least 1 of them', '5 characters', '']);
    expect(JSON.parse(exampleOf(field('items')))).toEqual([{ sku: '…', count: 1 }]);
    expect(exampleOf(field('either'))).toBe('"…"\nor\n{\n  "url": "…"\n}');
    expect(JSON.parse(exampleOf(fieldsOf({ properties: { labels: { type: 'object', additionalProperties: { type: 'string' } } } })[0]!))).toEqual({ '…': '…' });
  });
  test('shows what the server refuses where it is, with the way to it', () => {
    const refused = refusedOf([
      { pointer: '/input/author/address/zip', detail: 'is missing' },
      { pointer: '/input/items/0/sku', detail: 'is missing' },
      { pointer: '/input/items/1', detail: 'is wrong: 3 is not an object' },
      { pointer: '/ratio', detail: 'is wrong: 0.3 is not a multiple of 0.5' },
      { pointer: '/workspace/kind', detail: 'is unknown' },
    ], nested);
    expect(refused).toEqual({
      'author/address/zip': 'This is needed.',
      items: '[0].sku is missing; [1] is wrong: 3 is not an object',
      ratio: '0.3 is not a multiple of 0.5',
    });
  });
});

test('what comes with the program is offered once, and says in which projects', () => {
  const one = (name: string, project_id: string, file_path: string | null) => ({ id: `${project_id}-${name}`, name, project_id, file_path, description: null }) as never;
  const all = [one('issue', 'p1', null), one('feature', 'p2', 'f.ts'), one('feature', 'p1', 'f.ts'), one('issue', 'p2', null)];
  const told = (text = '') => shelvesOf(all, (id) => ({ p1: 'shop', p2: 'store' })[id] ?? '', text).map(({ name, entries }) => [name, entries.map((entry) => [entry.name, entry.of.length])]);
  expect(told()).toEqual([['Of shop', [['feature', 1]]], ['Of store', [['feature', 1]]], ['Built in', [['issue', 2]]]]);
  expect(told('ISS')).toEqual([['Built in', [['issue', 2]]]]);
  expect(told('store')).toEqual([['Of store', [['feature', 1]]], ['Built in', [['issue', 1]]]]);
});
