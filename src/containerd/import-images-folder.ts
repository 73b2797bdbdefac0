import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CutOffArchiveError } from './cut-off-archive.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { errorMessage, hasCode, UserError } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

export interface ImagesFolderOptions {
  /** `<root-dir>/images`. May be missing. */
  readonly folder: string;
  /** `<root-dir>/state/imported-images.json` */
  readonly stateFile: string;
  /** Identifies the image store. A new or emptied store gets all archives again. */
  readonly store: string;
  /** True if the store has the image with this name. */
  readonly isPresent: (name: string) => Promise<boolean>;
  /** Imports one archive and resolves to the names of its images. */
  readonly importArchive: (file: string) => Promise<string[]>;
  /** Aborts the import. */
  readonly signal: AbortSignal;
}

/** The results per file in the images folder. Paths are absolute. */
export interface ImportedFolder {
  readonly imported: readonly { file: string; names: readonly string[] }[];
  readonly failed: readonly { file: string; error: UserError }[];
  /** Archives that an earlier run imported and whose images are all present. */
  readonly unchanged: readonly string[];
  /** Names of all images from archives in the folder, imported now or earlier, even if their archive failed now. */
  readonly names: readonly string[];
  /** Files that are named neither like an archive nor like a checksum. */
  readonly ignored: readonly string[];
  /** Why the folder could not be read. Undefined if it was. */
  readonly unread?: UserError;
  /** Why the list of earlier imports was ignored, so that all archives are imported again. Undefined if it was not. */
  readonly ignoredList?: string;
}

interface ImportRecord {
  readonly size: number;
  readonly mtimeMs: number;
  readonly names: readonly string[];
  /** The end of the archive was missing, so that it has no images. */
  readonly isCutOff?: boolean;
}
interface State {
  readonly store: string;
  readonly files: Readonly<Record<string, ImportRecord>>;
}

const maxStateBytes = 8 * 1024 * 1024;
const archiveName = /\.(tar|tar\.gz|tgz)$/;
/** Skipped here: the import of an archive reads its checksum file. */
const checksumName = /\.(tar|tar\.gz|tgz)\.sha256$/;

/**
 * Imports every archive in the folder that this store does not have yet. Compares path, size and modification time, and
 * checks that the images of an earlier import are present. Reports a bad archive and goes on with the others. Bad
 * archives, and a folder that cannot be read, are tried again when the agent starts next, but not an archive whose end
 * is still missing. Rejects with the signal's reason; archives imported until then are not imported again.
 */
export async function importImagesFolder(options: ImagesFolderOptions): Promise<ImportedFolder> {
  const { folder, stateFile, store, isPresent, importArchive, signal } = options;
  const { files: known, ignoredList } = await filesOfStore(stateFile, store);
  const listed = await listFolder(folder);
  if (listed instanceof UserError)
    return { imported: [], failed: [], unchanged: [], names: namesIn(known), ignored: [], unread: listed };
  const names = listed.filter((name) => !name.startsWith('.'));
  const archives = names.filter((name) => archiveName.test(name)).map((name) => join(folder, name));
  const ignored = names
    .filter((name) => !archiveName.test(name) && !checksumName.test(name))
    .map((name) => join(folder, name));
  const files: Record<string, ImportRecord> = {};
  const result = {
    imported: [] as ImportedFolder['imported'][number][],
    failed: [] as ImportedFolder['failed'][number][],
  };
  const unchanged: string[] = [];

  for (const file of archives) {
    try {
      const { size, mtimeMs } = await stat(file);
      const before = known[file];
      if (before?.size === size && before.mtimeMs === mtimeMs) {
        // Recorded before the steps that may fail, because its images may be there all the same.
        files[file] = before;
        if (before.isCutOff === true) throw new CutOffArchiveError(file);
        if ((await Promise.all(before.names.map(isPresent))).every(Boolean)) {
          unchanged.push(file);
          continue;
        }
      }
      const imported = await importArchive(file).catch(async (error: unknown) => {
        if (error instanceof CutOffArchiveError) {
          files[file] = { size, mtimeMs, names: [], isCutOff: true };
          await writeState(stateFile, { store, files: { ...known, ...files } });
        }
        throw error;
      });
      files[file] = { size, mtimeMs, names: imported };
      result.imported.push({ file, names: imported });
      // Written at once, because importing again after a crash costs seconds on a small machine.
      await writeState(stateFile, { store, files: { ...known, ...files } });
    } catch (error) {
      signal.throwIfAborted();
      result.failed.push({ file, error: asUserError(file, error) });
    }
  }
  const hasRemoved = Object.keys(known).some((file) => !(file in files));
  if (hasRemoved) await writeState(stateFile, { store, files });
  return { ...result, unchanged, names: namesIn(files), ignored, ...(ignoredList !== undefined && { ignoredList }) };
}

/** True if there is an archive to import, or if the folder cannot be read, which the import reports. */
export async function hasImageArchives(folder: string): Promise<boolean> {
  const listed = await listFolder(folder);
  return listed instanceof UserError || listed.some((name) => archiveName.test(name) && !name.startsWith('.'));
}

/** Resolves to an error if the folder exists but cannot be read. */
async function listFolder(folder: string): Promise<string[] | UserError> {
  try {
    return (await readdir(folder)).sort();
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return [];
    return new UserError(`Could not read the images folder ${folder}: ${readFailure(cause, 'folder')}`, {
      hint: 'Make it a folder that root can read. The next start imports its archives.',
      cause,
    });
  }
}

const namesIn = (files: State['files']): string[] => Object.values(files).flatMap(({ names }) => names);

/**
 * Returns the names of all images from archives in the folder, in any store. Returns an empty list if no archive was
 * imported. Rejects with a `UserError` if the names are unknown, because the caller would remove those images.
 */
export async function importedImageNames(stateFile: string): Promise<string[]> {
  try {
    const { files } = await readState(stateFile);
    return namesIn(files);
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return [];
    throw new UserError(`${stateFile}, the list of imported images, cannot be read: ${errorMessage(cause)}`, {
      hint: 'Remove the file and start the agent, which imports the images again.',
      cause,
    });
  }
}

/**
 * Returns no files if the state file is missing, broken or belongs to another store. Then all archives are imported
 * again.
 */
async function filesOfStore(
  stateFile: string,
  store: string,
): Promise<{ files: State['files']; ignoredList?: string }> {
  try {
    const state = (await readState(stateFile)) as Partial<State> | null;
    if (typeof state?.store !== 'string' || Object(state.files) !== state.files)
      throw new Error('it is not a list of imported images');
    return { files: state.store === store ? { ...state.files } : {} };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { files: {} };
    return { files: {}, ignoredList: `${stateFile}: ${errorMessage(error)}` };
  }
}

/** Rejects with the error of the file system or the JSON parser. */
async function readState(stateFile: string): Promise<State> {
  return JSON.parse((await readRegularFile(stateFile, maxStateBytes)).toString()) as State;
}

function writeState(stateFile: string, state: State): Promise<void> {
  return writeFileAtomic(stateFile, `${JSON.stringify(state, undefined, 2)}\n`);
}

function asUserError(file: string, error: unknown): UserError {
  return error instanceof UserError
    ? error
    : new UserError(`Could not import the image archive ${file}: ${errorMessage(error)}`, { cause: error });
}
