import { httpFile } from './http-file.ts';
import { deviceFile } from '../devices/device-file.ts';
import type { ServerFile } from './server-file.ts';

/** The kinds of files in test/golden/server and test/golden/devices, by what they hold. */
export const serverFiles: readonly ServerFile[] = [httpFile, deviceFile];
