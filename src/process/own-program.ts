import { isSea } from 'node:sea';
import { join } from 'node:path';

/** The script that Node runs. Not used in the executable, where this argument is the name by which it was called. */
const script = (): string => process.argv[1] ?? '';

/** The file that users run: the executable, or `bin/kubelet-ts`, which is next to the script's folder. */
export const ownProgram = (): string => (isSea() ? process.execPath : join(script(), '../../bin/kubelet-ts'));

/** The arguments that run this program again. They come before the other arguments. */
export const ownArguments = (): string[] => (isSea() ? [] : [...process.execArgv, script()]);
