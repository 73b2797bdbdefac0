import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import type { NodeClassLookup } from '../../api/values/node-class.ts';
import { type ClassPosition, type ClassProblem, resolveClasses } from '../../api/values/resolve-classes.ts';
import type { ManifestProblem } from '../view/events.ts';

/**
 * Gives declared pods the values of their classes. As with an API server, a pod keeps the values that it got first, so
 * changing or removing a class does not affect its pods. A pod whose class is missing stays as declared, and
 * `problemOf` says why it must not start.
 */
export class PodClasses {
  /** By UID. */
  private readonly resolved = new Map<string, { declared: Pod; pod: Pod }>();
  private readonly problems = new Map<string, ClassProblem>();

  constructor(private readonly classes: NodeClassLookup) {}

  /** Returns the pod with the values of its classes. Returns the same object for the same pod. */
  resolve(declared: Pod): Pod {
    const { uid } = declared.metadata;
    const known = this.resolved.get(uid);
    if (known?.declared === declared) return known.pod;
    if (known !== undefined && isDeepStrictEqual(known.declared.spec, declared.spec)) {
      return this.keep(declared, { ...declared, spec: known.pod.spec });
    }
    this.drop(uid);
    const result = resolveClasses(declared, this.classes);
    if ('problem' in result) {
      this.problems.set(uid, result.problem);
      return declared;
    }
    return result.pod === declared ? declared : this.keep(declared, result.pod);
  }

  /** Returns why the pod with this declared UID must not start. Returns undefined if it may start. */
  problemOf(uid: string): ClassProblem | undefined {
    return this.problems.get(uid);
  }

  /**
   * Returns the problem of a pod with its position in the manifest, or with the source `where` if no position is known.
   */
  placedProblem({ metadata: { uid } }: Pod, places: readonly ClassPosition[], where: string): ManifestProblem[] {
    const problem = this.problems.get(uid);
    if (problem === undefined) return [];
    const { field, message, hint } = problem;
    const { origin = where, line, column } = places.find((one) => one.podUID === uid && one.field === field) ?? {};
    const place = { origin, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
    return [{ ...place, field, message, hint, severity: 'error' }];
  }

  /** Drops all pods except those with these UIDs. */
  retain(uids: ReadonlySet<string>): void {
    for (const uid of [...this.resolved.keys(), ...this.problems.keys()]) if (!uids.has(uid)) this.drop(uid);
  }

  private keep(declared: Pod, pod: Pod): Pod {
    this.resolved.set(declared.metadata.uid, { declared, pod });
    return pod;
  }

  private drop(uid: string): void {
    this.resolved.delete(uid);
    this.problems.delete(uid);
  }
}
