import type { SupportedKind } from '../../api/decoding/manifest-kinds.ts';
import { isWorkloadKind } from '../../api/values/workload.ts';
import { resolveKind } from '../../engine/applied/applied-object.ts';

/** Returns the kind and name in a word such as `deploy/web` or `svc/db`. Returns undefined if it has no known kind. */
export function kindAndName(word: string): { kind: SupportedKind; name: string } | undefined {
  const [kindWord = '', name = '', ...others] = word.split('/');
  const kind = resolveKind(kindWord);
  return kind !== undefined && name !== '' && others.length === 0 ? { kind, name } : undefined;
}

/** True for the kind of a workload or a Service. */
export const hasCommands = (kind: string): boolean => isWorkloadKind(kind) || kind === 'Service';

/** Joins a kind with the names after it: `deploy web` becomes `deploy/web`. By default only the kind of a workload. */
export function joinKind(words: readonly string[], isJoined: (kind: string) => boolean = isWorkloadKind): string[] {
  const [kind = '', ...names] = words;
  const isKind = !kind.includes('/') && names.length > 0 && isJoined(resolveKind(kind) ?? '');
  return isKind ? names.map((name) => `${kind}/${name}`) : [...words];
}
