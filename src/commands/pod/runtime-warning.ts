import type { Writable } from 'node:stream';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { visible } from '../../text/visible-text.ts';

/** Warns the user of a command that waits for pods if it waits for the container runtime. */
export class RuntimeWarning {
  private shown: string | undefined;

  constructor(private readonly stderr: Writable) {}

  /** Writes a line for each new reason. */
  update({ runtime: { error } }: Pick<EngineSnapshot, 'runtime'>): void {
    if (error !== undefined && error !== this.shown)
      this.stderr.write(`warning: waiting for the container runtime: ${visible(error)}\n`);
    this.shown = error;
  }
}
