import type { KubeletConfiguration } from '../../api/kubelet-configuration/types.ts';
import type { Clock } from '../../clock.ts';
import { type AgentMetrics, metricsPaths } from '../metrics/agent-metrics.ts';
import { sendError, sendJSON } from './answers.ts';
import type { ApiEngine, ApiRuntime } from './api-engine.ts';
import { checkpointContainer } from './checkpoint.ts';
import { configzMount } from './configz.ts';
import { handleContainerLogs } from './container-logs.ts';
import { debugFlagsMount } from './debug-flags.ts';
import { healthzMounts } from './healthz-checks.ts';
import { metricsMount } from './metrics-mount.ts';
import { podList, runningPodList } from './pod-lists.ts';
import { pprofMount } from './pprof.ts';
import type { Handler, Mount, Route } from './route-table.ts';
import { runCommand } from './run-command.ts';
import { answerSummary } from './stats-summary.ts';
import { systemLogsMount } from './system-logs.ts';
import { handleAttach, handleExec, handlePortForward } from './streams.ts';
import { type AgentPages, zPageMounts } from './z-pages.ts';

/** Options of the handlers, named as in the configuration. */
export interface HandlerOptions {
  enableDebuggingHandlers: boolean;
  enableSystemLogHandler: boolean;
  enableProfilingHandler: boolean;
  enableDebugFlagsHandler: boolean;
  /** Milliseconds. */
  streamingConnectionIdleTimeout: number;
  rootDir: string;
  /** Gate PodLogsQuerySplitStreams. */
  splitStreams: boolean;
  /** Gate ExtendWebSocketsToKubelet. */
  translatesWebSockets: boolean;
  /** Gate ContainerCheckpoint. */
  checkpoints: boolean;
  /** Gate NodeLogQuery, and enableSystemLogQuery. */
  logQueries: boolean;
  /** Milliseconds. */
  runtimeRequestTimeout: number;
}

export interface MountDeps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  clock: Pick<Clock, 'now' | 'sleep' | 'after'>;
  options: HandlerOptions;
  metrics: Pick<AgentMetrics, 'parts' | 'binaryParts' | 'health' | 'http'>;
  configuration: KubeletConfiguration;
  pages: Omit<AgentPages, 'paths'>;
  /** Folder of the system logs, normally /var/log. */
  systemLogs: string;
  /** Sets the level of the log, as a level of klog. */
  setVerbosity: (level: number) => void;
}

const json = 'application/json';
const containerPattern = '{namespace}/{pod}/{container}';

/**
 * All paths of one server. A read-only server has no debug handlers. kubelet: server/server.go InstallDefaultHandlers,
 * InstallDebuggingHandlers, InstallDebuggingDisabledHandlers
 */
export function apiMounts(deps: MountDeps, { readOnly }: { readOnly: boolean }): Mount[] {
  const { engine, options } = deps;
  const syncLoop = (): string | undefined => engine.unhealthyBecause();
  const devicePlugins = (): string | undefined => engine.devicePluginsUnhealthyBecause();
  const healthy = (): undefined => undefined;
  const checks = [
    { name: 'ping', unhealthyBecause: healthy },
    { name: 'log', unhealthyBecause: healthy },
    { name: 'syncloop', unhealthyBecause: syncLoop },
    { name: 'device-plugin', unhealthyBecause: devicePlugins },
  ];
  const mounts: Mount[] = [
    ...healthzMounts(checks, (name, isOk) => {
      deps.metrics.health.record(name, isOk);
    }),
    ...service(
      '/pods',
      ['pods', 'proxy'],
      [
        {
          methods: ['GET'],
          pattern: '',
          produces: json,
          handle: ({ response }) => {
            sendJSON(response, podList(engine), '\n');
          },
        },
      ],
    ),
    subtree(
      '/stats/',
      ['stats'],
      [{ methods: ['GET', 'POST'], pattern: 'summary', produces: json, handle: (call) => answerSummary(deps, call) }],
    ),
    ...metricsPaths.map((path) => metricsMount(path, deps)),
  ];
  if (readOnly || !options.enableDebuggingHandlers) return [...mounts, ...disabledMounts()];
  return [...mounts, ...containerMounts(deps), ...debugHandlerMounts(deps)];
}

/** Commands, streams and logs of containers. */
function containerMounts(deps: MountDeps): Mount[] {
  const { engine, runtime, options, clock } = deps;
  const streaming = {
    ...{ engine, runtime, clock },
    idleTimeoutMs: options.streamingConnectionIdleTimeout,
    translatesWebSockets: options.translatesWebSockets,
    onWebSocket: (subresource: string) => {
      deps.metrics.http.acceptedWebSocket(subresource);
    },
  };
  const logs = { engine, runtime, clock, splitStreams: options.splitStreams };
  const inPod = ['{namespace}/{pod}', '{namespace}/{pod}/{uid}'];
  const inContainer = [containerPattern, '{namespace}/{pod}/{uid}/{container}'];
  const both = ['GET', 'POST'];
  return [
    ...proxied('/run', ['POST'], inContainer, (call) => runCommand(deps, call)),
    ...proxied('/exec', both, inContainer, (call) => handleExec(streaming, call)),
    ...proxied('/attach', both, inContainer, (call) => handleAttach(streaming, call)),
    ...proxied('/portForward', both, inPod, (call) => handlePortForward(streaming, call)),
    ...proxied('/containerLogs', ['GET'], [containerPattern], (call) => handleContainerLogs(logs, call)),
  ];
}

/** Debug handlers of the runtime, the agent and the system. */
function debugHandlerMounts(deps: MountDeps): Mount[] {
  const { options } = deps;
  return [
    runningPodsMount(deps),
    ...(options.checkpoints ? [checkpointMount(deps)] : []),
    configzMount(deps.configuration),
    ...zPageMounts({ ...deps.pages, paths: listedPaths(deps) }, () => deps.clock.now()),
    options.enableDebugFlagsHandler
      ? debugFlagsMount(deps.setVerbosity)
      : disabled('/debug/flags/v', 'flags endpoint is disabled.', ['proxy']),
    options.enableProfilingHandler
      ? pprofMount()
      : disabled('/debug/pprof/', 'profiling endpoint is disabled.', ['proxy']),
    options.enableSystemLogHandler
      ? systemLogsMount({ folder: deps.systemLogs, hasQuery: options.logQueries })
      : disabled('/logs/', 'logs endpoint is disabled.', ['log']),
  ];
}

/** The kubelet lists /logs only where it refuses it. kubelet: server/server.go listedPaths */
const listedPaths = ({ options, pages }: MountDeps): string[] => [
  '/configz',
  '/debug',
  ...(pages.hasFlagz ? ['/flagz'] : []),
  '/healthz',
  ...(options.enableSystemLogHandler ? [] : ['/logs']),
  '/metrics',
];

function runningPodsMount({ runtime }: MountDeps): Mount {
  const handle: Handler = async ({ response }) => {
    sendJSON(response, await runningPodList(runtime), '\n');
  };
  return subtree('/runningpods/', ['pods', 'proxy'], [{ methods: ['GET'], pattern: '', produces: json, handle }]);
}

function checkpointMount(deps: MountDeps): Mount {
  const handle: Handler = (call) => checkpointContainer(deps, call);
  const route = { methods: ['POST'], pattern: containerPattern, produces: json, handle };
  return subtree('/checkpoint/', ['checkpoint'], [route]);
}

/** The paths that answer 405 where there are no debug handlers. */
function disabledMounts(): Mount[] {
  const paths = ['/run/', '/exec/', '/attach/', '/portForward/', '/containerLogs/', '/runningpods/', '/debug/pprof/'];
  const text = 'Debug endpoints are disabled.';
  return [...paths.map((path) => disabled(path, text, ['proxy'])), disabled('/logs/', text, ['log'])];
}

const disabled = (path: string, text: string, subresources: Mount['subresources']): Mount => ({
  path,
  subresources,
  handle: ({ response }) => {
    sendError(response, 405, text);
  },
});

const subtree = (path: string, subresources: Mount['subresources'], routes: readonly Route[]): Mount => ({
  path,
  subresources,
  routes,
});

/** A service whose root is served with and without a slash. go-restful: container.go addHandler */
const service = (path: string, subresources: Mount['subresources'], routes: readonly Route[]): Mount[] => [
  { path, subresources, routes },
  { path: `${path}/`, subresources, routes },
];

/** A service that needs the subresource proxy, with the same handler for each of the patterns. */
function proxied(path: string, methods: readonly string[], patterns: readonly string[], handle: Handler): Mount[] {
  return service(
    path,
    ['proxy'],
    patterns.map((pattern) => ({ methods, pattern, handle })),
  );
}
