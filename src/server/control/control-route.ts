import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppliedManifests } from '../../engine/applied/applied-manifests.ts';
import type { EngineHistory } from '../../engine/history/history-entry.ts';
import type { EngineOperations } from '../../engine/operations/operation.ts';
import type { StatsProvider } from '../../engine/stats/stats-provider.ts';
import type { EngineWorkloads } from '../../engine/workloads/workload-operations.ts';
import type { EngineDeclarations, EngineSettling, EngineView } from '../../engine/view/snapshot.ts';
import type { AgentMetrics } from '../metrics/agent-metrics.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { EventFeed } from './event-feed.ts';

/** The engine as the control socket uses it. */
export type ControlledEngine = EngineView &
  EngineHistory &
  EngineDeclarations &
  EngineSettling &
  EngineOperations &
  EngineWorkloads &
  Pick<StatsProvider, 'summary'>;

/** One request to a route. */
export interface ControlCall {
  request: IncomingMessage;
  response: ServerResponse;
  /** Parts of the path that the key of the route names, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Aborted when the connection closes, so that no one waits for the answer. */
  signal: AbortSignal;
}

/**
 * Handlers by `METHOD /v1/path`, where `{name}` in the path stands for one part. A handler answers, or throws a
 * `ControlRefusal`.
 */
export type ControlRoutes = Readonly<Record<string, (call: ControlCall) => unknown>>;

/** What routes use. */
export interface ControlContext {
  /** Resolves with the engine. Throws a `ControlRefusal` during an unbounded wait, unless the client asked to wait. */
  engineFor: (call: ControlCall) => Promise<ControlledEngine>;
  /** The engine, once it is built. */
  view: Promise<ControlledEngine>;
  /** Manifests that operators apply; undefined if this agent accepts none. */
  applied?: Pick<AppliedManifests, 'apply' | 'delete' | 'list'> | undefined;
  /** Texts for Prometheus. */
  metrics: Pick<AgentMetrics, 'text'>;
  /** Streams changes of the snapshot to all readers. */
  changes: Pick<ChangeFeed, 'add'>;
  /** Streams events to all readers. */
  events: Pick<EventFeed, 'add'>;
  shutdown: () => void;
}
