import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { visible } from '../../text/visible-text.ts';
import { mayDeclare } from './declaring-object.ts';
import { parseReference, type PodReference } from './pod-reference.ts';

/** What an agent knows about its manifests. */
export type ManifestNode = Pick<EngineSnapshot, 'nodeName' | 'sources'>;

/**
 * The errors of the manifest that would declare a pod without them. Empty if they are unknown, as for a URL, or for a
 * file that this user may not read.
 */
export async function refusedManifest(
  { nodeName, sources }: ManifestNode,
  reference: Pick<PodReference, 'pod' | 'namespace'>,
): Promise<ManifestProblem[]> {
  const { namespace, name } = parseReference(reference);
  const names = namesOf(name, nodeName);
  const errors = sources.flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error'));
  for (const origin of new Set(errors.map((error) => error.origin))) {
    if (await mayDeclare(origin, { namespace, names })) return errors.filter((error) => error.origin === origin);
  }
  return [];
}

/** A name as a manifest may write it: with and without the node name. */
export function namesOf(name: string, nodeName: string): string[] {
  const suffix = `-${nodeName}`;
  return name.endsWith(suffix) ? [name, name.slice(0, -suffix.length)] : [name];
}

/** Such as `/m/web.yaml:3:5: spec.containers: Required value`. */
export function errorText({ origin, line, column, field, message }: ManifestProblem): string {
  const position = [origin, line, column].filter((part) => part !== undefined).join(':');
  return visible([position, field, message].filter((part) => part !== undefined).join(': '));
}

/** A hint for a pod whose manifest has an error. Returns undefined if no error of it is known. */
export async function refusedHint(
  node: ManifestNode,
  reference: Pick<PodReference, 'pod' | 'namespace'>,
): Promise<string | undefined> {
  const [first] = await refusedManifest(node, reference);
  if (first === undefined) return undefined;
  return `Its manifest has an error: ${errorText(first)}. Show it: kubelet-ts explain ${reference.pod}`;
}

/**
 * A hint for a name that no pod has: its refused manifest, a similar name (`near`), or the manifests with errors.
 * Returns undefined if there are none. `node` is undefined without an agent.
 */
export async function unknownPodHint(
  reference: Pick<PodReference, 'pod' | 'namespace'>,
  node: ManifestNode | undefined,
  near: string | undefined,
): Promise<string | undefined> {
  const refused = node && (await refusedHint(node, reference));
  if (refused !== undefined) return refused;
  if (near !== undefined) return `Did you mean ${near}?`;
  return brokenManifests((node?.sources ?? []).flatMap(({ problems }) => problems));
}

/** A hint for an unknown pod name if manifests are broken. Returns undefined if none is. */
export function brokenManifests(problems: readonly ManifestProblem[]): string | undefined {
  const broken = [...new Set(problems.filter(({ severity }) => severity === 'error').map(({ origin }) => origin))];
  if (broken.length === 0) return undefined;
  return `Manifests with errors declare no pods: ${broken.slice(0, 3).join(', ')}${broken.length > 3 ? ', …' : ''}. kubelet-ts ps shows the errors.`;
}
