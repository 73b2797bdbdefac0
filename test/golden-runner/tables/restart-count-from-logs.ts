import { restartCountFromLogFiles } from '../../../src/engine/kuberuntime/restart-count-from-logs.ts';
import { tableAdapter } from '../table-adapter.ts';

export const restartCountFromLogs = tableAdapter<{ files?: string[] }>('restart-count-from-logs', ({ files = [] }) => ({
  ok: true,
  restartCount: restartCountFromLogFiles(files),
}));
