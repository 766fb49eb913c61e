// Thrown for what is no pattern, or no URL to match. Every entry point says it in its own words.
class Refused {}

export const refuse = () => {
  throw new Refused()
}

// What `compute` answers, or what `instead` does if it refuses.
export const orElse = (compute, instead) => {
  try {
    return compute()
  } catch (error) {
    if (error instanceof Refused) return instead()
    throw error
  }
}
