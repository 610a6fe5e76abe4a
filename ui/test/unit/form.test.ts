import { describe, expect, test } from 'vitest';
import { fieldOfPointer, fieldsOf, judge, valuesOf, type Schema } from '../../src/model/form';

const schema: Schema = {
  type: 'object',
  properties: {
    brief: { type: 'string', maxLength: 2000 },
    count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    deep: { type: 'object', properties: { a: { type: 'number' } } },
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
  test('finds the field that the server complains about', () => {
    expect([fieldOfPointer('/input/title', fields), fieldOfPointer('/title', fields), fieldOfPointer('/labels/1', fields), fieldOfPointer('/workspace/kind', fields)]).toEqual(['title', 'title', 'labels', null]);
  });
});
