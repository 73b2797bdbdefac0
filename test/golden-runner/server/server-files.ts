import { deviceFile } from '../devices/device-file.ts';
import { podResourcesFile } from '../devices/pod-resources-file.ts';
import { httpFile } from './http-file.ts';
import { metricsFile } from './metrics-file.ts';
import type { ServerFile } from './server-file.ts';
import { streamsFile } from './streams-file.ts';

/** The kinds of files in test/golden/server and test/golden/devices, by what they hold. */
export const serverFiles: readonly ServerFile[] = [streamsFile, metricsFile, httpFile, deviceFile, podResourcesFile];
