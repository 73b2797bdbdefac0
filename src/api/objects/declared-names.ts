import { type ManifestObject, problemOf } from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';

/** Finds what is declared twice in one text. */
export class DeclaredNames {
  readonly #claims = new Map<string, { object: ManifestObject; field: string }>();

  /** The problem of declaring something a second time; `what` names it, such as `Pod default/web`, and `field` says where. */
  claim(what: string, object: ManifestObject, field: string): ManifestProblem | undefined {
    const first = this.#claims.get(what);
    if (!first) {
      this.#claims.set(what, { object, field });
      return undefined;
    }
    const { line = 0 } = problemOf(first.object, { field: first.field, message: '', severity: 'error' });
    const message = `${what} is declared on line ${line} already`;
    return problemOf(object, { field, message, hint: 'Remove one of them, or change it.', severity: 'error' });
  }
}
