import type { ExecSyncResponse, RuntimeServiceDefinition } from './generated/cri.ts';
import type { CallOptions, Service } from './service.ts';

/** CRI v1 RuntimeService: sandboxes, containers, streaming, stats, events. */
export type RuntimeService = Omit<Service<RuntimeServiceDefinition>, 'execSync'> & {
  execSync: (
    request?: Parameters<Service<RuntimeServiceDefinition>['execSync']>[0],
    options?: ExecSyncOptions,
  ) => Promise<ExecSyncAnswer>;
};

export interface ExecSyncOptions extends CallOptions {
  /** Bytes to keep of each of stdout and stderr. Defaults to 10 KiB. */
  maxOutputBytes?: number;
}

/** The first bytes of stdout and stderr, and how the command exited. */
export interface ExecSyncAnswer extends ExecSyncResponse {
  /** Number of bytes that the command wrote beyond the kept ones. Absent if none. */
  leftOutBytes?: number;
}
