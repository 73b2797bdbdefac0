import { isSea } from 'node:sea';
import { join } from 'node:path';

/** The script that Node runs. Not used in the executable, which has the name by which it was called in its place. */
const script = (): string => process.argv[1] ?? '';

/** The file that users call: the executable, or `bin/kubelet-ts`, which stands next to the folder of the script. */
export const ownProgram = (): string => (isSea() ? process.execPath : join(script(), '../../bin/kubelet-ts'));

/** What runs this program again with other arguments: they come after these. */
export const ownArguments = (): string[] => (isSea() ? [] : [...process.execArgv, script()]);
