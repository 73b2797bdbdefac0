import type { Writable } from 'node:stream';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { podKey } from '../../api/values/pod-names.ts';
import type { Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { declaredConfigObjects } from './declared-config-objects.ts';

/** The name in `svc/web` or `service/web`. Returns undefined for other words. */
export function serviceNamed(word: string): string | undefined {
  return /^(?:svc|services?)\/([^/]+)$/i.exec(word)?.[1];
}

/**
 * The full name of a pod that a Service selects, a Ready one first. Names it on `stderr` if there are several. Rejects
 * with a `UserError` if there is no such Service, or if it selects no pod.
 */
export async function podOfService(
  service: { name: string; namespace: string | undefined },
  node: { rootDir: string; nodeName: string; pods: readonly Pod[] },
  stderr: Writable,
): Promise<string> {
  const { name, namespace } = service;
  const declared = (await declaredConfigObjects(node.rootDir, node.nodeName)).flatMap(({ object }) =>
    object.kind === 'Service' ? [object] : [],
  );
  const [found] = declared.filter((one) => one.name === name && (namespace ?? one.namespace) === one.namespace);
  if (found === undefined) {
    throw new UserError(`no Service "${visible(name)}" is declared`, { hint: 'List them: kubelet-ts get svc' });
  }
  const wanted = Object.entries(found.selector);
  const isSelected = ({ metadata }: Pod): boolean =>
    metadata.namespace === found.namespace && wanted.every(([key, value]) => metadata.labels?.[key] === value);
  const pods = wanted.length === 0 ? [] : node.pods.filter(isSelected);
  const chosen = pods.find(({ status }) => isPodReady(status)) ?? pods[0];
  if (chosen === undefined) {
    throw new UserError(`Service ${visible(name)} selects no pod`, {
      hint: 'Show labels: kubelet-ts ps --show-labels',
    });
  }
  if (pods.length > 1) stderr.write(`Found ${pods.length} pods, using pod/${visible(chosen.metadata.name)}\n`);
  return podKey(chosen.metadata);
}
