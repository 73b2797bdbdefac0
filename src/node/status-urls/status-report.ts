import type { EngineSnapshot, PodSnapshot, ReportedEngine } from '../../engine/view/snapshot.ts';
import type { EventBatch } from './event-queue.ts';

/** Version of docs/reference/status.schema.json. Fields may be added within a version. */
const schemaVersion = 1;

/** What a report has besides the snapshot. */
interface ReportFacts extends EventBatch {
  /** Identifies the numbering of events. */
  eventLogID: string;
  /** Milliseconds since the epoch. */
  sentAt: number;
}

/**
 * Returns the body of a post: the snapshot and a batch of events, as JSON. Pods have their status but not their spec
 * and annotations, which may contain secrets, and no values of their variables.
 */
export function statusReport(engine: ReportedEngine, facts: ReportFacts): string {
  const { eventLogID, sentAt, events, lostEvents, hasMore } = facts;
  const snapshot = engine.snapshot({ brief: true });
  const report = {
    schemaVersion,
    sentAt,
    eventLogID,
    lostEvents,
    hasMoreEvents: hasMore,
    snapshot: withoutSecrets(snapshot, engine),
  };
  // The events are JSON already.
  return `${JSON.stringify(report).slice(0, -1)},"events":[${events.join(',')}]}`;
}

function withoutSecrets({ statusURLs: _, pods, ...node }: EngineSnapshot, engine: ReportedEngine): object {
  return { ...node, pods: pods.map((pod) => podReport(pod, engine)) };
}

/** Its events are in the report. */
function podReport({ pod, events: _, ...entry }: PodSnapshot, engine: ReportedEngine): unknown {
  const { name, namespace, uid, labels } = pod.metadata;
  const metadata = { name, namespace, uid, ...(labels && { labels }) };
  const shown = { pod: { metadata, status: pod.status }, ...entry };
  return JSON.parse(
    JSON.stringify(shown, (field, value: unknown) =>
      typeof value === 'string' && foreignTexts.has(field) ? engine.withoutVariables(uid, value) : value,
    ),
  );
}

/** Fields with text from containers, runtimes and programs. */
const foreignTexts: ReadonlySet<string> = new Set(['message', 'lastSyncError']);
