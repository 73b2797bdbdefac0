/** The program of a service. */
export interface ServiceProgram {
  program: string;
  /** The guard of its upgrades, and the file that they replace. Undefined for a program that is not one executable. */
  guard?: { script: string; program: string } | undefined;
}
