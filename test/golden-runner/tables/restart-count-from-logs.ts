import { restartCountFromLogFiles } from '../../../src/engine/kuberuntime/restart-count-from-logs.ts';
import { tableAdapter } from '../table-adapter.ts';

export const restartCountFromLogs = tableAdapter<{ files?: string[] }>('restart-count-from-logs', ({ files = [] }) => {
  const restartCount = restartCountFromLogFiles(files);
  return restartCount === undefined ? { ok: false } : { ok: true, restartCount };
});
