import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { Logger } from '../../logger.ts';

interface PauseImageDeps {
  /** Loads the pause image if it is missing. Resolves to true if it was. */
  readonly ensure: () => Promise<boolean>;
  /** True if a runtime without the image would pull it from a public registry. */
  readonly isAskedOutside: () => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * Wraps a runtime. If RunPodSandbox fails and the pause image is missing, loads the image and tries once more. Checks
 * the image only after a failure, so success costs nothing.
 */
export function withPauseImage(runtime: RuntimeService, deps: PauseImageDeps): RuntimeService {
  const { isAskedOutside, logger } = deps;
  let loads = 0;
  let underWay: Promise<void> | undefined;

  const ensure = (): Promise<void> => {
    underWay ??= load().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
  const load = async (): Promise<void> => {
    try {
      if (!(await deps.ensure())) return;
      loads++;
      logger.warn('The pause image was removed; loading it again');
    } catch (error) {
      logger.error({ err: error }, 'The pause image could not be loaded again');
    }
  };

  return {
    ...runtime,
    runPodSandbox: async (request, options) => {
      if (await isAskedOutside()) await ensure();
      const loadsBefore = loads;
      try {
        return await runtime.runPodSandbox(request, options);
      } catch (error) {
        if (options?.signal?.aborted === true) throw error;
        await ensure();
        // Another sandbox that failed may have loaded the image in the meantime.
        if (loads === loadsBefore) throw error;
        return await runtime.runPodSandbox(request, options);
      }
    },
  };
}
