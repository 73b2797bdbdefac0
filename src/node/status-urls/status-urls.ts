import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { readRecordFile } from '../../engine/host/record-file.ts';
import type { ReportedEngine, StatusURLSnapshot } from '../../engine/view/snapshot.ts';
import { errorMessage } from '../../errors.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import type { Logger } from '../../logger.ts';
import { EventQueue } from './event-queue.ts';
import { reportedEvent, snapshotChanges } from './reported-events.ts';
import { type Post, StatusURL } from './status-url.ts';

/** What the servers have accepted, on disk. */
interface AcceptedRecord {
  eventLogID: string;
  urls: { where: string; sequence: number; at?: number | undefined }[];
}

interface Deps {
  rootDir: string;
  /** Each server, by its URL without secrets. */
  servers: readonly { where: string; post: Post }[];
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}

const maxRecordBytes = 1024 * 1024;

/**
 * Posts the state of the node and its events to all status URLs. An event is posted again until the server accepts it,
 * also after a restart of the agent, unless too many followed.
 */
export class StatusURLs {
  private readonly urls: readonly StatusURL[];
  /** True while the record cannot be written. */
  private isFailing = false;

  private constructor(
    private readonly deps: Deps,
    private readonly queue: EventQueue,
    private readonly record: AcceptedRecord,
  ) {
    const unsavedLogID = randomUUID();
    const eventLogID = (): string => (queue.isFailing ? unsavedLogID : record.eventLogID);
    this.urls = deps.servers.map(({ where, post }) => {
      const known = record.urls.find((url) => url.where === where);
      const save = (): Promise<void> => this.save();
      const accepted = { acceptedSequence: known?.sequence ?? 0, acceptedAt: known?.at };
      return new StatusURL({ ...deps, where, post, queue, eventLogID, save }, accepted);
    });
  }

  /** Loads what an earlier agent left. Never rejects: if the disk fails, it starts without that. */
  static async open(deps: Deps): Promise<StatusURLs> {
    const { rootDir, clock, logger } = deps;
    const queue = new EventQueue({ folder: folderOf(rootDir), clock, logger });
    const record = await loadRecord(queue, deps).catch((error: unknown) => {
      const hint = `Check ${folderOf(rootDir)}.`;
      logger.warn({ err: errorMessage(error), hint }, 'Reading the events for the status URLs failed; they are lost');
      return newRecord();
    });
    const all = new StatusURLs(deps, queue, record);
    await all.save();
    return all;
  }

  snapshot(): StatusURLSnapshot[] {
    return this.urls.map((url) => url.snapshot());
  }

  /** Posts until the signal is aborted. */
  async run(engine: ReportedEngine, signal: AbortSignal): Promise<void> {
    const isChange = snapshotChanges();
    const unsubscribe = engine.subscribe((event) => {
      const reported = reportedEvent(event, engine);
      if (reported !== undefined) this.queue.add(reported);
      if (isChange(event)) for (const url of this.urls) url.changed();
    });
    try {
      await Promise.all(this.urls.map((url) => url.run(engine, signal)));
    } finally {
      unsubscribe();
      await this.queue.close();
    }
  }

  /** Never rejects: without the record, the next agent posts events again. */
  private async save(): Promise<void> {
    const urls = this.urls.map(({ where, accepted }) => ({
      where,
      sequence: accepted.acceptedSequence,
      at: accepted.acceptedAt,
    }));
    const record: AcceptedRecord = { eventLogID: this.record.eventLogID, urls };
    try {
      await writeFileAtomic(recordOf(this.deps.rootDir), JSON.stringify(record));
      this.isFailing = false;
    } catch (error) {
      const hint = 'Make room in the root-dir, or make it writable. A restarted agent posts some events again.';
      const { logger } = this.deps;
      if (!this.isFailing)
        logger.warn({ err: errorMessage(error), hint }, 'Recording what status URLs accepted failed');
      this.isFailing = true;
    }
  }
}

/** Also loads the queue. */
async function loadRecord(queue: EventQueue, { rootDir, logger }: Deps): Promise<AcceptedRecord> {
  const known = await readRecordFile(recordOf(rootDir), maxRecordBytes, parseRecord, logger);
  const record = known ?? newRecord();
  await queue.load(Math.max(0, ...record.urls.map(({ sequence }) => sequence)));
  return record;
}

const newRecord = (): AcceptedRecord => ({ eventLogID: randomUUID(), urls: [] });

const folderOf = (rootDir: string): string => join(rootDir, 'state', 'status-urls');
const recordOf = (rootDir: string): string => join(folderOf(rootDir), 'accepted.json');

function parseRecord(bytes: Buffer): AcceptedRecord | undefined {
  const { eventLogID, urls } = JSON.parse(bytes.toString('utf8')) as Partial<AcceptedRecord>;
  return typeof eventLogID === 'string' && Array.isArray(urls) ? { eventLogID, urls } : undefined;
}
