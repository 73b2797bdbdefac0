import { isSea } from 'node:sea';

/** The file of this program: the executable, or the script that Node runs. */
export const ownProgram = (): string =>
  // The executable has the name by which it was called in place of a script.
  isSea() ? process.execPath : (process.argv[1] ?? process.execPath);

/** What runs this program again with other arguments: they come after these. */
export const ownArguments = (): string[] => (isSea() ? [] : [...process.execArgv, ownProgram()]);

/** The same with the program that runs it. */
export const ownCommandLine = (): string[] => [process.execPath, ...ownArguments()];
