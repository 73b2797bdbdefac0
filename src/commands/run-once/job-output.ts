import { dirname } from 'node:path';
import type { Pod } from '../../api/types.ts';
import { initAndRegularStatuses, runtimeContainerID } from '../../api/values/container-statuses.ts';
import { systemClock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { RunOnceRequest } from '../../node/run-once/run-once-node.ts';
import { type CutSignals, RunOnceLogs } from '../../node/run-once/run-once-logs.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';

/** Where the output goes, and the runtime that has its files. */
export interface OutputRequest extends Pick<RunOnceRequest, 'stdout' | 'stderr' | 'isColoured' | 'guard'> {
  rootDir: string;
  containerRuntimeEndpoint?: string | undefined;
}

/**
 * Shows the output of the pods of a Job that an agent runs. Its log files are found through the runtime, because only
 * the agent knows its folder of logs.
 */
export class JobOutput {
  /** Undefined until a container has a log. */
  private logs: RunOnceLogs | undefined;
  private isFailing = false;
  podLogsDir = '';

  constructor(
    private readonly request: OutputRequest,
    private readonly deps: Pick<CommandDeps, 'connect'>,
  ) {}

  /** True if each line starts with its container. */
  get hasPrefixes(): boolean {
    return this.logs?.hasPrefixes ?? false;
  }

  /** Follows the containers of these pods that have a log. Never rejects. */
  async show(pods: readonly Pod[], { isSingle }: { isSingle: boolean }): Promise<void> {
    this.logs ??= await this.open(pods, isSingle);
    this.logs?.add(pods);
    this.logs?.followAll();
  }

  /** As `RunOnceLogs.shown`. */
  async shown(pods: readonly Pod[], cut: CutSignals): Promise<void> {
    await this.logs?.shown(pods, cut);
  }

  /** As `RunOnceLogs.end`. */
  async end(cut: AbortSignal): Promise<boolean> {
    return (await this.logs?.end(cut)) ?? true;
  }

  private async open(pods: readonly Pod[], isSingle: boolean): Promise<RunOnceLogs | undefined> {
    const statuses = pods.flatMap(({ status }) => initAndRegularStatuses(status));
    const containerId = statuses.map(({ containerID }) => runtimeContainerID(containerID)).find((id) => id !== '');
    if (containerId === undefined || this.isFailing) return undefined;
    const { request } = this;
    try {
      const logPath = await withRuntime(this.deps.connect(request), async ({ runtime }) => {
        const { status } = await runtime.containerStatus({ containerId });
        return status?.logPath ?? '';
      });
      // The path is <folder of logs>/<pod>/<container>/<attempt>.log.
      this.podLogsDir = dirname(dirname(dirname(logPath)));
      return new RunOnceLogs({ ...request, pods, isSingle, podLogsDir: this.podLogsDir, clock: systemClock });
    } catch (error) {
      this.isFailing = true;
      request.stderr.write(visible(`warning: the output cannot be shown: ${errorMessage(error)}`) + '\n');
      return undefined;
    }
  }
}
