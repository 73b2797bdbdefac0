import { type ManifestObject, problemOf } from './manifest-object.ts';
import type { ManifestProblem } from './manifest-problem.ts';

/** Finds what is declared twice in one text. */
export class DeclaredNames {
  readonly #lines = new Map<string, number>();

  /** The problem of declaring something a second time; `what` names it, such as `Pod default/web`, and `field` says where. */
  claim(what: string, object: ManifestObject, field: string): ManifestProblem | undefined {
    const line = this.#lines.get(what);
    if (line === undefined) {
      this.#lines.set(what, problemOf(object, { field, message: '', severity: 'error' }).line ?? 0);
      return undefined;
    }
    const message = `${what} is declared on line ${line} already`;
    return problemOf(object, { field, message, hint: 'Remove one of them, or change it.', severity: 'error' });
  }
}
