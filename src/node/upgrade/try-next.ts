import { rm } from 'node:fs/promises';
import { UserError } from '../../errors.ts';
import type { ELFHeader } from './elf-header.ts';
import { programFiles } from './program-files.ts';
import { refuseForeignProgram } from './refuse-foreign-program.ts';
import { writeNext } from './replace-program.ts';
import { readableState, readStateFormat, stateFormat } from './state-format.ts';
import { answerState, type StateAnswer, stateAnswerOf, versionOfProgram } from './try-program.ts';

interface TrialRequest {
  /** Header of the running program. */
  own: ELFHeader;
  content: Buffer;
  rootDirs: readonly string[];
  /** True to skip the check of the state. */
  isForced: boolean;
}

/** A new program that runs on this machine. */
export interface Trial {
  version: string;
  /** Root-dirs whose state it reads. */
  reads: string[];
  /** True if it writes state that this release does not read. */
  writesLater: boolean;
}

/**
 * Writes a new program next to the running one and tries whether it runs here and reads the state of these root-dirs.
 * Rejects with a `UserError`, and then leaves no file.
 */
export async function tryNext(program: string, { own, content, rootDirs, isForced }: TrialRequest): Promise<Trial> {
  refuseForeignProgram(content, 'the new program', own);
  const { next } = programFiles(program);
  await writeNext(program, content);
  try {
    const version = await versionOfProgram(next, 'the new program');
    const ours = await answerState(rootDirs);
    const answer = await stateAnswerOf(next, 'the new program', rootDirs);
    if (!isForced) await refuseUnreadableState(ours, version, answer);
    return { version, reads: isForced ? [] : [...rootDirs], writesLater: (answer?.stateFormat ?? 0) > stateFormat };
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

/** What people lose if they go on anyway. */
const force = 'To replace it anyway: --force. Then pods that you stopped may start again, and revisions may be lost.';

async function refuseUnreadableState(
  ours: StateAnswer,
  version: string,
  answer: StateAnswer | undefined,
): Promise<void> {
  if (answer === undefined) {
    throw new UserError(`kubelet-ts ${version} does not answer whether it reads the state of this one`, {
      hint: force,
    });
  }
  for (const [rootDir, names] of Object.entries(ours.readable)) {
    const format = await readStateFormat(rootDir);
    if (format > answer.stateFormat) {
      const message = `the state in ${rootDir} has format ${format}, and kubelet-ts ${version} reads up to ${answer.stateFormat}`;
      throw new UserError(message, { hint: force });
    }
    const theirs = new Set(answer.readable[rootDir]);
    const missing = names.filter((name) => !theirs.has(name));
    if (missing.length === 0) continue;
    // A pod that was removed in the meantime does not count.
    const still = new Set(await readableState(rootDir));
    const lost = missing.find((name) => still.has(name));
    if (lost !== undefined) throw new UserError(`kubelet-ts ${version} cannot read ${lost}`, { hint: force });
  }
}
