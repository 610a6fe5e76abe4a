/** A form that somebody fills in: what stands in it, and what is wrong that they have been at, or that the server did not take. */

import { fieldsOf, judge, valuesOf, type Field, type Schema, type Values } from './form';
import { refusedOf } from './hints';

/** A file that a run was given was copied among the run's own; another run is to be given the file, not the copy. */
const COPY = /\/executions\/[^/]+\/context\/(?:.*\/)?([^/]+)$/;

export class Sheet {
  readonly fields: Field[];
  values = $state<Values>({});
  judged = $derived.by(() => judge(this.fields, this.values));
  #touched = $state.raw<readonly string[]>([]);
  #refused = $state.raw<Record<string, string>>({});
  /** What files were called in an earlier run. */
  #files = $state.raw<Record<string, string>>({});

  constructor(schema: Schema | null) {
    this.fields = fieldsOf(schema);
    this.values = valuesOf(this.fields);
  }

  /** Puts an earlier input into it, or the defaults. */
  fill(input: unknown = null): void {
    const values = valuesOf(this.fields, input);
    const files: Record<string, string> = {};
    for (const { name } of leaves(this.fields).filter(({ kind }) => kind === 'file')) {
      const copied = COPY.exec(String(values[name]))?.[1];
      if (copied) [files[name], values[name]] = [copied, ''];
    }
    this.#files = files;
    this.values = values;
    this.#touched = [];
    this.#refused = {};
  }

  fileOf(name: string): string | null {
    return this.#files[name] ?? null;
  }

  set(name: string, value: Values[string]): void {
    this.values[name] = value;
    if (this.#refused[name]) this.#refused = { ...this.#refused, [name]: '' };
  }

  touch(name: string): void {
    if (!this.#touched.includes(name)) this.#touched = [...this.#touched, name];
  }

  error(name: string): string | null {
    return this.#refused[name] || (this.#touched.includes(name) ? (this.judged.errors[name] ?? null) : null);
  }

  /** Whether it can be sent; whatever is wrong with it is shown from now on. */
  check(): boolean {
    this.#touched = leaves(this.fields).map(({ name }) => name);
    return Object.keys(this.judged.errors).length === 0;
  }

  /** Whether all that the server says is said beside a field. */
  refuse(problems: readonly { pointer: string; detail: string }[]): boolean {
    this.#refused = refusedOf(problems, this.fields);
    return problems.length > 0 && problems.every((problem) => Object.keys(refusedOf([problem], this.fields)).length > 0);
  }
}

function leaves(fields: readonly Field[]): Field[] {
  return fields.flatMap((field) => (field.kind === 'group' ? leaves(field.fields) : [field]));
}
