import { podKey } from '../api/values/pod-names.ts';
import { podStatusText, readyText, restartCount } from '../api/values/pod-printer.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineSnapshot, PodSnapshot } from '../engine/view/snapshot.ts';
import { describeEvent } from './describe-event.ts';
import { printable } from '../text/visible-text.ts';
import { podReason } from './pod-reason.ts';

/** Maximum number of event lines at a time. */
const maxEventLines = 20;

/** A pod in one line of text, for a screen reader. */
function podLine(entry: PodSnapshot, node: EngineSnapshot, now: number): string {
  const reason = podReason(entry, node, now);
  return printable(`${stateOf(entry)}${reason === '' ? '' : `: ${reason}`}`);
}

/** Lines of pods that differ from those in `seen`, which it updates. */
export function changedPodLines(seen: Map<string, string>, node: EngineSnapshot, now: number): string[] {
  const changed = node.pods.filter((entry) => seen.get(entry.pod.metadata.uid) !== stateOf(entry));
  const removed = [...seen].filter(([uid]) => !node.pods.some(({ pod }) => pod.metadata.uid === uid));
  for (const entry of changed) seen.set(entry.pod.metadata.uid, stateOf(entry));
  for (const [uid] of removed) seen.delete(uid);
  return [
    ...changed.map((entry) => podLine(entry, node, now)),
    ...removed.map(([, state]) => printable(`${state.split(' ')[0] ?? ''} is gone`)),
  ];
}

/** Lines of events, and the number of omitted ones. */
export function plainEventLines(events: readonly KubeletEvent[]): string[] {
  const lines = events.slice(-maxEventLines).map((event) => {
    const { pod, title, detail } = describeEvent(event);
    const time = new Date(event.at).toTimeString().slice(0, 8);
    return printable([time, pod === undefined ? '(node)' : podKey(pod), title, detail].join(' '));
  });
  const left = events.length - lines.length;
  return left === 0 ? lines : [`${left} events were omitted`, ...lines];
}

function stateOf({ pod, worker }: PodSnapshot): string {
  const { namespace, name } = pod.metadata;
  return `${namespace}/${name} ${podStatusText(pod, worker)}, ready ${readyText(pod)}, restarts ${restartCount(pod)}`;
}
