import { httpFile } from './http-file.ts';
import type { ServerFile } from './server-file.ts';

/** The kinds of files in test/golden/server, by what they hold. */
export const serverFiles: readonly ServerFile[] = [httpFile];
