import { writeFile } from 'node:fs/promises';
import { errorMessage, hasCode } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** kubelet: qos/policy.go KubeletOOMScoreAdj */
const defaultOOMScoreAdj = -999;

/**
 * Has the kernel spare this process, and the runtime that it starts, when memory runs out. Where that is not allowed it is
 * only said; loudly when somebody asked for the value. kubelet: cmd/kubelet/app/server.go run
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
    const message = 'The oom_score_adj of this process stays as it is';
    if (oomScoreAdj !== defaultOOMScoreAdj) logger.warn(facts, message);
    // Without CAP_SYS_RESOURCE that is so at every start, and nobody asked for more.
    else if (hasCode(error, 'EACCES', 'EPERM')) logger.debug(facts, message);
    else logger.info(facts, message);
  }
}
