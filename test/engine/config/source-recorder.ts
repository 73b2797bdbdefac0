import type { PodSource, SourceUpdate } from '../../../src/engine/config/pod-source.ts';
import type { ManifestProblem } from '../../../src/engine/view/events.ts';
import { Journal } from '../../fakes/journal.ts';

/** What a source handed over: names of its pods, and its problems as `severity message`. */
export interface Handed {
  /** Undefined: only problems came, the pods stay. */
  pods: string[] | undefined;
  problems: string[];
}

/** Runs a source and keeps what it hands over. */
export class SourceRecorder {
  readonly updates: SourceUpdate[] = [];
  /** What is wrong, as it was told last. */
  problems: readonly ManifestProblem[] = [];
  readonly ended: Promise<unknown>;
  readonly #journal = new Journal<Handed>();
  readonly #stopping = new AbortController();

  constructor(source: PodSource) {
    this.ended = source
      .run(
        {
          onUpdate: (update) => {
            this.updates.push(update);
            this.problems = update.problems;
            const pods = update.pods.map(({ metadata }) => metadata.name);
            this.#journal.add({ pods, problems: update.problems.map(textOf) });
          },
          onProblems: (problems) => {
            this.problems = problems;
            this.#journal.add({ pods: undefined, problems: problems.map(textOf) });
          },
        },
        this.#stopping.signal,
      )
      .catch((error: unknown) => error);
  }

  get handed(): readonly Handed[] {
    return this.#journal.items;
  }

  next(): Promise<Handed> {
    return this.#journal.next(() => true);
  }

  /** The next time that the pods are these. */
  nextWithPods(...pods: string[]): Promise<Handed> {
    return this.nextThat((handed) => JSON.stringify(handed.pods) === JSON.stringify(pods));
  }

  nextThat(matches: (handed: Handed) => boolean): Promise<Handed> {
    return this.#journal.next(matches);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the test is over'));
    await this.ended;
  }
}

const textOf = ({ severity, message }: ManifestProblem): string => `${severity} ${message}`;
