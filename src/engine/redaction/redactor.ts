import { boundedText, splitMark } from '../../text/bounded-text.ts';
import { maxProblemsPerSource, textLimits } from '../../text/text-limits.ts';
import { notShown } from '../../api/text/problem-list.ts';
import type { PodStatus } from '../../api/types.ts';
import type { KubeletEvent, ManifestProblem } from '../view/events.ts';
import type { SecretValues } from './secret-values.ts';

/** Longest text that is searched for values of Secrets. */
const maxSearchedBytes = 64 * 1024;
/**
 * Longest termination message in the status of a pod with one container. kubelet: pkg/kubelet/container/runtime.go
 * MaxPodTerminationMessageLogLength
 */
export const maxTerminationMessageBytes = 12 * 1024;
/** Fields of a status that a container, a runtime or a program wrote. */
const foreignTextFields = new Set(['message', 'reason']);

/**
 * Bounds every text that leaves the engine, and redacts values of Secrets in it: in events, statuses, snapshots and the
 * log. Inside the engine, texts are unchanged.
 */
export class Redactor {
  /** Problems are compared by identity, so each problem maps to one cleaned object. */
  private readonly problemsSeen = new WeakMap<ManifestProblem, ManifestProblem>();
  private readonly listsSeen = new WeakMap<readonly ManifestProblem[], ManifestProblem[]>();

  constructor(private readonly deps: { secrets: SecretValues }) {}

  readonly text = (text: string, maxBytes: number = textLimits.message): string => {
    const { whole, mark } = splitMark(boundedText(text, maxSearchedBytes));
    return boundedText(this.deps.secrets.hide(whole) + mark, maxBytes);
  };

  event<E extends KubeletEvent>(event: E): E;
  event(event: KubeletEvent): KubeletEvent {
    switch (event.type) {
      case 'Recorded':
        return { ...event, message: this.text(event.message, textLimits.event) };
      case 'SyncFinished':
        return event.error === undefined ? event : { ...event, error: this.text(event.error, textLimits.event) };
      case 'RuntimeNotReady':
        return { ...event, message: this.text(event.message, textLimits.event) };
      case 'SourceRead':
        return { ...event, problems: this.problems(event.problems) };
      case 'ContainerDied': {
        const { end } = event;
        if (end === undefined) return event;
        const { reason, message } = end;
        return { ...event, end: { ...end, reason: this.text(reason, textLimits.event), message: this.text(message) } };
      }
      case 'ContainerStarted':
      case 'ContainerChanged':
      case 'ContainerRemoved':
      case 'PodAdded':
      case 'PodUpdated':
      case 'PodRemoved':
      case 'PodStatusChanged':
      case 'PullProgressed':
      case 'RuntimeReady':
      case 'SyncStarted':
      case 'WorkerStateChanged':
      case 'WorkloadChanged':
        return event;
    }
  }

  /** Returns a status with cleaned messages. Returns the same object if nothing changed. */
  status(status: PodStatus): PodStatus {
    return this.fields(status) as PodStatus;
  }

  /** Returns the first 200 problems, with bounded texts. */
  problems(problems: readonly ManifestProblem[]): ManifestProblem[] {
    const seen = this.listsSeen.get(problems);
    if (seen !== undefined) return seen;
    const known = problems.filter((problem) => problem.notShown === undefined);
    const shown = known.slice(0, maxProblemsPerSource).map((problem) => this.problem(problem));
    const leftOut = problems.reduce((sum, problem) => sum + (problem.notShown ?? 0), known.length - shown.length);
    const [first] = problems;
    if (leftOut > 0 && first !== undefined) {
      const { origin, severity } = first;
      shown.push({ origin: boundedText(origin, textLimits.message), severity, ...notShown(leftOut) });
    }
    this.listsSeen.set(problems, shown);
    return shown;
  }

  private problem(problem: ManifestProblem): ManifestProblem {
    const seen = this.problemsSeen.get(problem);
    if (seen !== undefined) return seen;
    const { origin, message, field, hint } = problem;
    const clean = {
      ...problem,
      origin: boundedText(origin, textLimits.message),
      message: this.text(message),
      ...(field !== undefined && { field: this.text(field, textLimits.event) }),
      ...(hint !== undefined && { hint: this.text(hint, textLimits.event) }),
    };
    this.problemsSeen.set(problem, clean);
    return clean;
  }

  private fields(value: unknown): unknown {
    if (Array.isArray(value)) return this.sameUnlessChanged(value, (item) => this.fields(item));
    if (typeof value !== 'object' || value === null) return value;
    let changed: Record<string, unknown> | undefined;
    for (const [name, field] of Object.entries(value)) {
      const clean =
        typeof field === 'string' && foreignTextFields.has(name) ? this.text(field, maxOf(name)) : this.fields(field);
      if (clean !== field) changed = { ...(changed ?? value), [name]: clean };
    }
    return changed ?? value;
  }

  private sameUnlessChanged(values: unknown[], clean: (value: unknown) => unknown): unknown[] {
    const cleaned = values.map(clean);
    return cleaned.some((value, index) => value !== values[index]) ? cleaned : values;
  }
}

const maxOf = (field: string): number => (field === 'reason' ? textLimits.event : maxTerminationMessageBytes);
