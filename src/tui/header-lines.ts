import { isPodReady } from '../api/values/pod-conditions.ts';
import { humanDuration } from '../api/values/duration.ts';
import { reasons } from '../engine/view/reasons.ts';
import type { EngineSnapshot, PodSnapshot, RuntimeSnapshot, Silence, SourceSnapshot } from '../engine/view/snapshot.ts';
import { displayWidth } from '../text/display-width.ts';
import { printable } from '../text/visible-text.ts';
import { type Line, type Span, textLine } from './line.ts';
import { wrapped } from './output-page.ts';

/** Maximum lines of the header. */
export const headerLineLimit = 2;

const gap = '  ';

/**
 * Node, runtime, pods, sources, PLEG and uptime, on up to `limit` lines. The last ones are dropped if they do not fit.
 */
export function headerLines(snapshot: EngineSnapshot, now: number, columns: number, limit: number): Line[] {
  const lines: Line[] = [];
  let rest = 0;
  for (const span of headerSpans(snapshot, now)) {
    const width = displayWidth(printable(span.text));
    const current = lines.at(-1);
    if (current !== undefined && gap.length + width <= rest) {
      current.spans.push({ text: gap }, span);
      rest -= gap.length + width;
    } else if (lines.length < limit) {
      lines.push({ spans: [span] });
      rest = columns - width;
    }
  }
  return lines;
}

/** The header while the agent does not answer. */
export function silenceLines(nodeName: string, { since, message, isStarting }: Silence, now: number): Line[] {
  const duration = humanDuration(now - since);
  const state: Span = isStarting
    ? { text: `${gap}STARTING for ${duration}`, color: 'yellow' }
    : { text: `${gap}LOST for ${duration}, showing the last known state: ${message}`, color: 'red' };
  return [{ spans: [{ text: `kubelet-ts ${nodeName}`, bold: true }, state] }];
}

/** In place of pods: why the agent does not answer yet. Empty for an agent that has answered before. */
export function startingLines(silence: Silence | undefined, columns: number): Line[] {
  if (silence?.isStarting !== true) return [];
  return wrapped(printable(silence.message), columns - gap.length).map((row) => textLine(`${gap}${row}`));
}

function headerSpans(snapshot: EngineSnapshot, now: number): Span[] {
  const { pods, pleg } = snapshot;
  const relist =
    pleg.lastRelistAt === undefined ? 'no relist yet' : `relist ${humanDuration(now - pleg.lastRelistAt)} ago`;
  return [
    { text: `kubelet-ts ${snapshot.nodeName}`, bold: true },
    ...(snapshot.version === undefined ? [] : [{ text: `v${snapshot.version}` }]),
    ...runtimeSpans(snapshot.runtime),
    ...snapshot.pressures.map(({ type }): Span => ({ text: type, color: 'red' })),
    podsSpan(pods),
    ...snapshot.sources.filter(isShown).map(sourceSpan),
    { text: `PLEG ${pleg.mode}, ${relist}` },
    { text: `up ${humanDuration(now - snapshot.startedAt)}` },
  ];
}

/** Completed pods, and pods that an operator stopped, are not expected to be Ready. */
function podsSpan(pods: readonly PodSnapshot[]): Span {
  const statuses = pods.map(({ pod }) => pod.status);
  const completed = statuses.filter((status) => status?.phase === 'Succeeded').length;
  const stopped = statuses.filter((status) => status?.reason === reasons.stopped).length;
  const ready = statuses.filter(isPodReady).length;
  const expected = pods.length - completed - stopped;
  const counts = [
    `pods ${ready}/${expected} ready`,
    ...(completed === 0 ? [] : [`${completed} completed`]),
    ...(stopped === 0 ? [] : [`${stopped} stopped`]),
  ];
  return { text: counts.join(', '), color: ready === expected ? 'green' : 'yellow' };
}

function runtimeSpans(runtime: RuntimeSnapshot): Span[] {
  if (runtime.error !== undefined) {
    return [{ text: `runtime: ${runtime.error}`, color: 'red' }];
  }
  const spans: Span[] = [{ text: `${runtime.name} ${runtime.version}`, color: 'cyan' }];
  return runtime.networkError === undefined
    ? spans
    : [...spans, { text: `network: ${runtime.networkError}`, color: 'yellow' }];
}

/** Every agent accepts applied manifests. Most have none. */
function isShown({ source, pods, problems }: SourceSnapshot): boolean {
  return source !== 'applied' || pods + problems.length > 0;
}

function sourceSpan(source: SourceSnapshot): Span {
  if (!source.ready) {
    return { text: `${source.source} not read yet`, color: 'yellow' };
  }
  const errors = source.problems.filter(({ severity }) => severity === 'error').length;
  const warnings = source.problems.length - errors;
  const counts = [...counted(errors, 'error'), ...counted(warnings, 'warning')].join(', ');
  return {
    text: `${source.source} ${source.pods}${counts === '' ? '' : ` (${counts})`}`,
    ...(errors > 0 && { color: 'red' }),
  };
}

const counted = (count: number, what: string): string[] =>
  count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`];
