import { posix } from 'node:path';
import {
  containerIDOfLogSymlink,
  containerLogLinksDir,
  containerLogPath,
  containerLogsDirectory,
  containerLogSymlinkName,
  podLogsDirectory,
  podUIDOfLogsDirectory,
} from '../../../src/engine/container/log-paths.ts';
import { tableAdapter } from '../table-adapter.ts';

interface Paths {
  kind: 'paths';
  podLogsDir: string;
  namespace: string;
  name: string;
  uid: string;
  container: string;
  containerID: string;
  restartCount: number;
}
type In = Paths | { kind: 'uidOfLogDirectory' | 'containerIDOfSymlink'; value: string };

export const logNames = tableAdapter<In>('log-names', (input) => {
  switch (input.kind) {
    case 'paths':
      return {
        podLogsDirectory: podLogsDirectory(input.podLogsDir, input),
        containerLogsDirectory: containerLogsDirectory(input.podLogsDir, input, input.container),
        logPath: containerLogPath(input.container, input.restartCount),
        symlink: posix.join(containerLogLinksDir, containerLogSymlinkName(input, input.container, input.containerID)),
      };
    case 'uidOfLogDirectory':
      return { uid: podUIDOfLogsDirectory(input.value) };
    case 'containerIDOfSymlink': {
      const containerID = containerIDOfLogSymlink(input.value);
      return containerID === undefined ? { ok: false } : { ok: true, containerID };
    }
  }
});
