import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { errorMessage, isOutOfResources } from '../../errors.ts';
import { listFolder } from '../../files/list-folder.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { replaceFile, syncFolder } from '../../files/write-file-atomic.ts';
import { readRecordFile } from '../host/record-file.ts';
import type { Logger } from '../../logger.ts';

interface Deps<T> {
  path: string;
  /** Returns undefined, or throws a SyntaxError, for damaged content. */
  parse: (bytes: Buffer) => T | undefined;
  logger: Logger;
}

/** Far more than a file needs. A larger one counts as damaged. */
const maxFileBytes = 1024 * 1024;
/** How many files are read at a time. */
const maxReads = 16;
const fileName = /^(sha256-[a-f0-9]{64})(\.damaged)?$/;

/**
 * The files in one folder of the records of image pulls.
 *
 * INVARIANTS: a file is complete or absent, after a power cut too. The name of a damaged file is still known, because
 * it says that there was a pull.
 */
export class RecordFolder<T> {
  constructor(private readonly deps: Deps<T>) {}

  /**
   * Resolves with the content of each file by its name; `unknown` for a damaged one, which is renamed and logged once.
   * Rejects if a file cannot be read now.
   */
  async load(): Promise<Map<string, T | 'unknown'>> {
    const { path } = this.deps;
    const names = await listFolder(path, 'ENOTDIR');
    await Promise.all(names.filter((name) => name.endsWith('.tmp')).map((name) => this.unlink(name)));
    const limit = pLimit(maxReads);
    const loaded = await Promise.all(
      names.map((name) =>
        limit(async (): Promise<[string, T | 'unknown'][]> => {
          const [, base = '', damaged] = fileName.exec(name) ?? [];
          if (base === '' || (damaged !== undefined && names.includes(base))) return [];
          return [[base, damaged === undefined ? await this.read(name) : 'unknown']];
        }),
      ),
    );
    return new Map(loaded.flat());
  }

  /** Resolves once the file would survive a power cut. Rejects with the error of the file system. */
  async write(name: string, content: string): Promise<void> {
    const { path } = this.deps;
    await makeFolder(path, 0o700);
    await replaceFile(join(path, name), Buffer.from(content));
    await syncFolder(path);
    await this.unlink(`${name}.damaged`);
  }

  /** Removes a file, also a damaged one. Rejects with the error of the file system. */
  async remove(name: string): Promise<void> {
    await this.unlink(name);
    await this.unlink(`${name}.damaged`);
  }

  private async read(name: string): Promise<T | 'unknown'> {
    const { path, parse, logger } = this.deps;
    try {
      return (await readRecordFile(join(path, name), maxFileBytes, parse, logger)) ?? 'unknown';
    } catch (error) {
      if (isOutOfResources(error)) throw error;
      const message = 'The record of an image pull cannot be read; the next pod that uses the image pulls it again';
      logger.warn({ path: join(path, name), err: errorMessage(error) }, message);
      return 'unknown';
    }
  }

  private unlink(name: string): Promise<void> {
    return rm(join(this.deps.path, name), { recursive: true, force: true });
  }
}
