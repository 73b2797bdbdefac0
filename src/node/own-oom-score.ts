import { writeFile } from 'node:fs/promises';
import { errorMessage, hasCode } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** kubelet: qos/policy.go KubeletOOMScoreAdj */
const defaultOOMScoreAdj = -999;

/**
 * Makes the kernel spare this process, and the runtime that it starts, when memory runs out. Without permission, only
 * logs this, as an error if the user set the value. kubelet: cmd/kubelet/app/server.go run
 */
export async function setOwnOOMScoreAdj(
  oomScoreAdj: number,
  logger: Pick<Logger, 'debug' | 'info' | 'warn'>,
  path = '/proc/self/oom_score_adj',
): Promise<void> {
  try {
    await writeFile(path, String(oomScoreAdj));
  } catch (error) {
    const facts = { oomScoreAdj, err: errorMessage(error) };
    const message = 'Could not set the oom_score_adj of this process';
    if (oomScoreAdj !== defaultOOMScoreAdj) logger.warn(facts, message);
    // The default value always fails without CAP_SYS_RESOURCE, so that is not worth a warning.
    else if (hasCode(error, 'EACCES', 'EPERM')) logger.debug(facts, message);
    else logger.info(facts, message);
  }
}
