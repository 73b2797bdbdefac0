import type { ExecSyncResponse, RuntimeServiceDefinition } from './generated/cri.ts';
import type { Service } from './service.ts';

/** CRI v1 RuntimeService: sandboxes, containers, streaming, stats, events. */
export type RuntimeService = Omit<Service<RuntimeServiceDefinition>, 'execSync'> & {
  execSync: (...call: Parameters<Service<RuntimeServiceDefinition>['execSync']>) => Promise<ExecSyncAnswer>;
};

/** The first 10 KiB of stdout and of stderr, and how the command ended. */
export interface ExecSyncAnswer extends ExecSyncResponse {
  /** Number of further bytes that the command wrote; absent if none. */
  leftOutBytes?: number;
}
