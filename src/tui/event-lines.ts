import type { PodRef } from '../api/values/pod-names.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import { describeEvent } from './describe-event.ts';
import { fitToWidth } from './display-width.ts';
import type { Line, Span } from './line.ts';

/** Below this width the events pane names pods without their namespaces. */
const namespacesFrom = 70;

/** Lines of the events pane, `columns` wide: time, pod, event, facts. */
export function eventLines(events: readonly KubeletEvent[], columns: number): Line[] {
  const described = events.map((event) => ({ at: event.at, ...describeEvent(event) }));
  const podTexts = described.map(({ pod }) => podText(pod, columns >= namespacesFrom));
  const podWidth = Math.min(Math.max(0, ...podTexts.map((text) => text.length)), Math.floor(columns / 3));
  return described.map(({ at, title, detail, color }, index) => ({
    spans: [
      timeSpan(at),
      { text: `${fitToWidth(podTexts[index] ?? '', podWidth)} ` },
      titleSpan(title, color),
      { text: detail },
    ],
  }));
}

/** One line of a pod's own history, where the pod needs no mention. */
export function podEventLine(event: KubeletEvent): Line {
  const { title, detail, color } = describeEvent(event);
  return { spans: [timeSpan(event.at), titleSpan(title, color), { text: detail }] };
}

function podText(pod: PodRef | undefined, withNamespace: boolean): string {
  if (pod === undefined) {
    return '(node)';
  }
  return withNamespace ? `${pod.namespace}/${pod.name}` : pod.name;
}

function timeSpan(at: number): Span {
  return { text: `${new Date(at).toTimeString().slice(0, 8)} `, color: 'gray' };
}

/** As wide as `ContainerStarted`; a longer reason moves its facts to the right. */
const titleWidth = 16;

function titleSpan(title: string, color: Span['color']): Span {
  return { text: `${title.padEnd(titleWidth)} `, ...(color && { color }) };
}
