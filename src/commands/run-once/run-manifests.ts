import { podKey } from '../../api/values/pod-names.ts';
import type { Logger } from '../../logger.ts';
import { requireRoot } from '../../process/needs-root.ts';
import { logEvents } from '../../node/log/log-events.ts';
import { createNodeLogger, type LogFlags } from '../../node/log/node-logger.ts';
import { eachFailureOnce } from '../../node/log/repeated-failures.ts';
import { type NodeFlags, nodeOptions, type NodeOptions } from '../../node/options/node-options.ts';
import { givenVariables } from '../../node/run-once/environment-file.ts';
import type { IsolatedRun } from '../../node/run-once/isolated-run.ts';
import type { ImageOverride } from '../../node/run-once/pod-overrides.ts';
import { runOnce, type RunOnceRequest, type RunOnceResult } from '../../node/run-once/run-once-node.ts';
import type { Until } from '../../node/run-once/run-once-outcome.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { guardedLog } from './guarded-log.ts';
import { resolveDecider } from './resolve-decider.ts';

export interface RunOnceFlags extends NodeFlags, LogFlags {
  filename?: string[];
  until: Until;
  exitCodeFrom?: string;
  timeout?: number;
  strict: boolean;
  rm: boolean;
  isolated: boolean;
  env?: string[];
  envFile?: string[];
  set?: ImageOverride[];
  output?: 'json';
  junit?: string;
}

interface Request extends Pick<
  RunOnceRequest,
  'timeoutMs' | 'interrupted' | 'allLogs' | 'stdout' | 'stderr' | 'isColoured' | 'guard'
> {
  /** Guards the log. Undefined outside of a CI service. */
  ci: Parameters<typeof guardedLog>[1];
  /** Runs the pods in a group of the log of a CI service. */
  inGroup: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Runs the pods of manifests in an engine of this process, without an agent. */
export async function runManifests(
  manifests: readonly string[],
  flags: RunOnceFlags,
  { ci, inGroup, ...request }: Request,
  deps: CommandDeps,
): Promise<RunOnceResult> {
  const node = await nodeOptions(flags, []);
  const { logger: nodeLogger } = await createNodeLogger(node, flags, 'warn');
  const logger = eachFailureOnce(withoutFailedSyncs(guardedLog(nodeLogger, ci)));
  const { exitCodeFrom } = flags;
  const isolated = flags.isolated ? await openIsolatedRun(node, logger, request.interrupted) : undefined;
  const options = isolated?.options ?? node;
  const run = await inGroup(() =>
    runOnce({
      ...request,
      options,
      manifests: [...manifests, ...(flags.podManifestPath ?? [])],
      overrides: async (signal) => ({ env: await givenVariables(flags, process.env, signal), images: flags.set ?? [] }),
      isStrict: flags.strict,
      until: flags.until,
      decider: exitCodeFrom === undefined ? undefined : (pods) => resolveDecider(exitCodeFrom, pods, options.nodeName),
      remove: flags.rm || flags.isolated,
      stdin: deps.stdin,
      logger,
      onKubelet: (kubelet) => {
        logEvents(kubelet, logger);
      },
      onStop: ({ pods, seconds }) => {
        const names = pods.map(({ metadata }) => podKey(metadata));
        // With -o json, stdout has only the JSON.
        if (flags.output !== 'json') deps.stderr.write(`Stopping ${visible(names.join(', '))} (up to ${seconds} s)…\n`);
      },
    }),
  ).catch(async (error: unknown) => {
    await isolated?.close({ isEmpty: true });
    throw error;
  });
  await isolated?.close({ isEmpty: run.unremoved.length === 0 });
  return run;
}

/** Loaded on demand, because most runs share the root-dir of the node. */
async function openIsolatedRun(node: NodeOptions, logger: Logger, signal: AbortSignal): Promise<IsolatedRun> {
  const isolated = await import('../../node/run-once/isolated-run.ts');
  requireRoot();
  return isolated.openIsolatedRun(node, logger, signal);
}

/** Drops logs of failed syncs, because each is also an event of its pod. */
function withoutFailedSyncs(logger: Logger): Logger {
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    child: (bindings) => {
      const child = logger.child(bindings);
      return bindings['component'] === 'pod-workers' ? { ...child, warn: child.debug.bind(child) } : child;
    },
  };
}
