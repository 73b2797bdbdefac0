import type { Faults } from '../flow/faults.ts';

/**
 * What nobody caught is counted and logged, and ends neither the agent nor the supervision of its pods. Ends with the
 * function that is returned.
 */
export function surviveBugs(faults: Pick<Faults, 'note'>): () => void {
  const note = (error: unknown): void => {
    faults.note('agent', error);
  };
  process.on('uncaughtException', note).on('unhandledRejection', note);
  return () => {
    process.off('uncaughtException', note).off('unhandledRejection', note);
  };
}
