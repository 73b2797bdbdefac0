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
  metrics: Pick<AgentMetrics, 'parts' | 'binaryParts' | 'health'>;
  configuration: KubeletConfiguration;
  /** Folder of the system logs, normally /var/log. */
  systemLogs: string;
  /** Sets the level of the log, as a level of klog. */
  setVerbosity: (level: number) => void;
}

const json = 'application/json';

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
      deps.metrics.health.note(name, isOk);
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
  return [...mounts, ...debugMounts(deps)];
}

function debugMounts(deps: MountDeps): Mount[] {
  const { engine, runtime, options, clock } = deps;
  const streaming = { engine, runtime, clock, idleTimeoutMs: options.streamingConnectionIdleTimeout };
  const logs = { engine, runtime, clock, splitStreams: options.splitStreams };
  const both = ['GET', 'POST'];
  const inContainer = (methods: readonly string[], handle: Handler): Route[] =>
    ['{namespace}/{pod}/{container}', '{namespace}/{pod}/{uid}/{container}'].map((pattern) => ({
      methods,
      pattern,
      handle,
    }));
  return [
    ...service(
      '/run',
      ['proxy'],
      inContainer(['POST'], (call) => runCommand(deps, call)),
    ),
    ...service(
      '/exec',
      ['proxy'],
      inContainer(both, (call) => handleExec(streaming, call)),
    ),
    ...service(
      '/attach',
      ['proxy'],
      inContainer(both, (call) => handleAttach(streaming, call)),
    ),
    ...service(
      '/portForward',
      ['proxy'],
      [
        { methods: both, pattern: '{namespace}/{pod}', handle: (call) => handlePortForward(streaming, call) },
        { methods: both, pattern: '{namespace}/{pod}/{uid}', handle: (call) => handlePortForward(streaming, call) },
      ],
    ),
    ...service(
      '/containerLogs',
      ['proxy'],
      [
        {
          methods: ['GET'],
          pattern: '{namespace}/{pod}/{container}',
          handle: (call) => handleContainerLogs(logs, call),
        },
      ],
    ),
    subtree(
      '/runningpods/',
      ['pods', 'proxy'],
      [
        {
          methods: ['GET'],
          pattern: '',
          produces: json,
          handle: async ({ response }) => {
            sendJSON(response, await runningPodList(runtime), '\n');
          },
        },
      ],
    ),
    ...(options.checkpoints
      ? [
          subtree(
            '/checkpoint/',
            ['checkpoint'],
            [
              {
                methods: ['POST'],
                pattern: '{namespace}/{pod}/{container}',
                produces: json,
                handle: (call) => checkpointContainer(deps, call),
              },
            ],
          ),
        ]
      : []),
    configzMount(deps.configuration),
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
