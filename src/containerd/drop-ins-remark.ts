import type { ManagedPaths } from './managed-paths.ts';

/** With which drop-ins a containerd was started. */
interface StartedDropIns {
  /** As in `DropIns`. */
  readonly stamp: string;
  /** True if it did not start with them, and was then started without. */
  readonly isLeftOut: boolean;
}

/** The remark in the configuration of a containerd, by which the next run recognizes new drop-ins. */
export const dropInsRemark = ({ stamp, isLeftOut }: StartedDropIns): string | undefined =>
  stamp === '' ? undefined : `${isLeftOut ? 'Without' : 'With'} the files in conf.d, ${stamp}`;

/** Reads the remark. The configurations of earlier releases have none. */
export function dropInsOf(config: string): StartedDropIns {
  const [, preposition, stamp = ''] = /^# (With|Without) the files in conf\.d, ([\da-f]+)$/m.exec(config) ?? [];
  return { stamp, isLeftOut: preposition === 'Without' };
}

/** The warning about drop-ins with which containerd did not start. `failure` is the error of that start, if known. */
export function leftOutText({ dropIns, logFile }: Pick<ManagedPaths, 'dropIns' | 'logFile'>, failure?: Error): string {
  const reason = failure === undefined ? `see ${logFile}` : reasonIn(failure.message);
  return `containerd runs without the files in ${dropIns}, because it does not start with them: ${reason}`;
}

/** The lines after the first are from the log. Later plugins fail because the first one did. */
function reasonIn(message: string): string {
  const [first = '', ...lines] = message.split('\n').map((line) => line.trim());
  const found = lines.map((line) => /"failed to load plugin.* error=("(?:[^"\\]|\\.)*")/.exec(line)?.[1]);
  const reason = found.find((text) => text !== undefined);
  return reason === undefined ? (lines.at(-1) ?? first) : String(JSON.parse(reason));
}
