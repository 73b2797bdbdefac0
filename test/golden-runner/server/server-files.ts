import { deviceFile } from '../devices/device-file.ts';
import { podResourcesFile } from '../devices/pod-resources-file.ts';
import { changedHTTPFile, httpFile } from './http-file.ts';
import { metricsFile } from './metrics-file.ts';
import type { ServerFile } from './server-file.ts';
import { shapesFile, statsSummaryFile } from './stats-summary-file.ts';
import { startErrorsFile } from './start-errors-file.ts';
import { streamsFile } from './streams-file.ts';
import { tlsFile } from './tls-file.ts';

/** The kinds of files in test/golden/server and test/golden/devices, by what they hold. */
export const serverFiles: readonly ServerFile[] = [
  streamsFile,
  metricsFile,
  shapesFile,
  statsSummaryFile,
  httpFile,
  changedHTTPFile,
  startErrorsFile,
  tlsFile,
  deviceFile,
  podResourcesFile,
];
