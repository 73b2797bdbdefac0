import { findPod } from '../describe/find-pod.ts';
import type { CommandDeps } from '../io/deps.ts';
import { agentSnapshot } from '../pod/agent-snapshot.ts';
import type { PodFlags } from '../pod/open-pod.ts';
import { recordedOwners } from '../objects/recorded-owners.ts';
import { resolveObject } from './resolve-object.ts';
import { type ListedEvent, listedEvents } from '../objects/listed-event.ts';
import { eventsOf, type IsOfObject, objectEvents } from '../objects/object-events.ts';

/**
 * The recorded events of the pod, workload or Service that `reference` names, or of all, oldest first. `isOfObject` is
 * true for later events of it.
 */
export async function pastEvents(
  deps: CommandDeps,
  reference: string | undefined,
  flags: PodFlags,
): Promise<{ events: ListedEvent[]; isOfObject: IsOfObject }> {
  const { rootDir } = flags;
  const snapshot = await agentSnapshot(rootDir, deps.stderr);
  if (reference === undefined) {
    const isOfObject: IsOfObject = ({ namespace }) => flags.namespace === undefined || namespace === flags.namespace;
    const owners = (await recordedOwners(rootDir, snapshot)).filter(isOfObject);
    return { events: await eventsOf(owners, { rootDir, snapshot }), isOfObject };
  }
  const object = await resolveObject(reference, flags, snapshot);
  if (object !== undefined) return objectEvents(object, { rootDir, snapshot });
  const { namespace, name, history } = await findPod(deps, reference, flags, snapshot);
  const events = listedEvents({ namespace, name }, history).sort((a, b) => a.lastAt - b.lastAt);
  return { events, isOfObject: (event) => event.namespace === namespace && event.name === name };
}
