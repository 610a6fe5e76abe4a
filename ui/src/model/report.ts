/** Test reports: JUnit's XML, as every test runner writes it. */

export interface Case {
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  seconds: number | null;
  message: string | null;
}
export interface Report {
  passed: number;
  failed: number;
  skipped: number;
  cases: Case[];
}

/** The report, or null if it is none. What failed comes first. */
export function reportOf(text: string): Report | null {
  if (!text.includes('<testcase')) return null;
  // A document that is only read: nothing in it is ever put into the page.
  const document = new DOMParser().parseFromString(text, 'text/xml');
  if (document.querySelector('parsererror')) return null;
  const cases = Array.from(document.querySelectorAll('testcase'), caseOf);
  const number = (outcome: Case['outcome']) => cases.filter((one) => one.outcome === outcome).length;
  const rank = { failed: 0, passed: 1, skipped: 2 };
  cases.sort((one, other) => rank[one.outcome] - rank[other.outcome]);
  return { passed: number('passed'), failed: number('failed'), skipped: number('skipped'), cases };
}

function caseOf(element: Element): Case {
  const trouble = element.querySelector('failure, error');
  const suite = element.getAttribute('classname');
  const seconds = Number(element.getAttribute('time'));
  return {
    name: [suite, element.getAttribute('name')].filter(Boolean).join(' › '),
    outcome: trouble ? 'failed' : element.querySelector('skipped') ? 'skipped' : 'passed',
    seconds: element.hasAttribute('time') && Number.isFinite(seconds) ? seconds : null,
    message: trouble ? `${trouble.getAttribute('message') ?? ''}\n${trouble.textContent ?? ''}`.trim() : null,
  };
}
