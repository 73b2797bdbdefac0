import type { Clock } from '../clock.ts';
import { type ImportProgress, importText } from '../containerd/import-progress.ts';
import type { ImportedFolder } from '../containerd/import-images-folder.ts';
import type { UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/**
 * Called once, before a slow step of the start. `doing` returns the current step. Returns undefined if there is none.
 */
export type OnStarting = (doing: () => string | undefined) => Promise<void>;

interface Deps {
  /** Imports the archives that the runtime does not have yet. */
  importFolder: (signal: AbortSignal, onProgress: (progress: ImportProgress) => void) => Promise<ImportedFolder>;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  onStarting: OnStarting | undefined;
}

/** Milliseconds between two log lines on the progress of an import. */
const progressPeriodMs = 3000;

/**
 * Imports the archives of the root-dir and reports the progress and the failures. Resolves to the names of all images
 * that came from them. Rejects with the signal's reason.
 */
export async function importImages({
  importFolder,
  clock,
  logger,
  signal,
  onStarting,
}: Deps): Promise<readonly string[]> {
  let progress: ImportProgress | undefined;
  await onStarting?.(() => progress && `loading ${importText(progress)}`);
  let cancel = (): void => undefined;
  const logPeriodically = (): void => {
    cancel = clock.after(progressPeriodMs, () => {
      if (progress !== undefined) logger.info({ progress: importText(progress) }, 'Loading an image archive');
      logPeriodically();
    });
  };
  logPeriodically();
  try {
    const { imported, failed, names, unread, ignoredList } = await importFolder(signal, (now) => {
      if (now.file !== progress?.file) logger.info({ progress: importText(now) }, 'Loading an image archive');
      progress = now;
    });
    if (ignoredList !== undefined)
      logger.warn({ err: ignoredList }, 'The list of imported images was damaged; importing all archives again');
    for (const done of imported) logger.info({ file: done.file, names: done.names }, 'Imported an image archive');
    for (const { file, error } of failed)
      logger.error({ file, ...failureFacts(error) }, 'An image archive was not imported');
    if (unread !== undefined) logger.warn(failureFacts(unread), 'No image archive was imported');
    return names;
  } finally {
    cancel();
    progress = undefined;
  }
}

const failureFacts = ({ message: err, hint }: UserError): object => ({ err, ...(hint !== undefined && { hint }) });
